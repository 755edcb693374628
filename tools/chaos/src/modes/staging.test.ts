import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { stateFile } from '@brine/service/processes';
import { UsageError } from '@brine/swarm/options';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { staging } from './staging.ts';

let dir: string;
let said: { out: string; err: string };

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-chaos-'));
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\ncachedir: ${dir}/cache\n`);
  said = { out: '', err: '' };
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    said.out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said.err += String(text);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

function chaos(...args: string[]): Promise<number> {
  return staging.run(['--staging', '--config-dir', dir, ...args]);
}

/** A state file as a supervisor writes it: the supervisor is the parent of the tests. */
function pretendMaster(): void {
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  const path = stateFile(options.brine.stateDir);
  mkdirSync(dirname(path), { recursive: true });
  const service = { name: 'publisher', state: 'ready', pid: process.pid, restarts: 0 };
  const state = { pid: process.ppid, startedAt: new Date().toISOString(), services: [service] };
  writeFileSync(path, JSON.stringify(state));
}

test('without --yes the plan is shown, nothing is done, and the exit code says so', async () => {
  pretendMaster();
  const code = await chaos('--faults', '3', '--seed', '5', '--only', 'kill');
  expect(code).toBe(64);
  expect(said.out).toMatch(/^seed 5: kill -9 \S+, kill -9 \S+, kill -9 \S+\n$/);
  expect(said.err).toContain('needs --yes');
  const shown = said.out;
  await chaos('--faults', '3', '--seed', '5', '--only', 'kill');
  expect(said.out).toBe(shown + shown);
});

test.each([[[]], [['--yes']]])('where no master runs there is nothing to do (%j)', async (args) => {
  expect(await chaos(...args)).toBe(1);
  expect(said.err).toContain('no `brine master` runs on this host');
});

test.each(['cut', 'flood'])('%s is refused: it needs a proxy, or does not exist', async (kind) => {
  pretendMaster();
  await expect(chaos('--only', kind)).rejects.toThrow(UsageError);
  await expect(chaos('--only', kind)).rejects.toThrow(`--only has no ${kind}`);
});
