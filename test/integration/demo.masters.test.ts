import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BRINE } from '@brine/testing/checkouts';
import { expect, it } from 'vitest';

it('brine demo starts a master and two minions, runs its jobs and stops', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [BRINE, 'demo']);
  for (const minion of ['one.demo', 'two.demo']) expect(stdout).toContain(`store.${minion}`);
  expect(stdout).toMatch(/stopped\.\s*$/);
});
