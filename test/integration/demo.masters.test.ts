import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../apps/cli/bin/brine.mjs', import.meta.url));

it('brine demo starts a master and two minions, runs its jobs and stops', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'demo']);
  for (const minion of ['one.demo', 'two.demo']) expect(stdout).toContain(`store.${minion}`);
  expect(stdout).toMatch(/stopped\.\s*$/);
});
