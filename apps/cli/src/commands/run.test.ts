import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCommandLine } from '../command-line.ts';

const DIR = mkdtempSync(join(tmpdir(), 'brine-run-'));
beforeEach(() => writeFileSync(join(DIR, 'master'), `root_dir: ${DIR}\n`));
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

async function run(...words: readonly string[]) {
  const written = { stdout: '', stderr: '' };
  const exit = await runCommandLine('salt-run', ['-c', DIR, ...words], {
    isTerminal: false,
    ownsSignals: false,
    out: (text) => void (written.stdout += text),
    err: (text) => void (written.stderr += text),
    ask: async () => undefined,
    askSecret: async () => undefined,
    readInput: async () => '',
  });
  return { exit, ...written };
}

test('without a master the text says so, and the exit code is 1', async () => {
  const { exit, stdout, stderr } = await run('manage.up');
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
  expect(stderr).toContain('Is master running?');
});

test('a command warns of its option that is not in force', async () => {
  writeFileSync(join(DIR, 'master'), `root_dir: ${DIR}\noutput_file: /x\nssl: true\n`);
  expect((await run('-d', 'jobs.why')).stderr).toBe(
    `[WARNING ] Option 'output_file' in ${DIR}/master, line 2, is not in force: use --out-file\n`,
  );
});

test('options that are taken and have no effect bring a warning, once each', async () => {
  const { exit, stderr } = await run(
    ...['--skip-grains', '--skip-grains', '--saltfile', 'x'],
    ...['-d', 'jobs.why'],
  );
  expect(exit).toBe(0);
  expect(stderr.split('\n')).toEqual([
    '[WARNING ] --skip-grains has no effect here: the master has no grains',
    '[WARNING ] --saltfile has no effect here: give the options themselves',
    '',
  ]);
});

test('a Saltfile that stock tools would read brings a warning', async () => {
  const saltfile = join(DIR, 'Saltfile');
  writeFileSync(saltfile, 'salt-run: {}\n');
  vi.stubEnv('SALT_SALTFILE', saltfile);
  const { stderr } = await run('-d', 'jobs.why').finally(() => vi.unstubAllEnvs());
  expect(stderr).toBe(`[WARNING ] ${saltfile} is not read: give the options themselves\n`);
});

describe('documentation', () => {
  test('-d alone shows all functions', async () => {
    const { exit, stdout } = await run('-d');
    expect(exit).toBe(0);
    for (const name of ['jobs.list_jobs', 'manage.up', 'jobs.why']) {
      expect(stdout).toContain(`${name}:\n\n    `);
    }
  });

  test('-d of a name shows what is below it, and says where that is nothing', async () => {
    const jobs = await run('-d', 'jobs');
    expect(jobs.stdout).toContain('jobs.list_jobs:');
    expect(jobs.stdout).not.toContain('manage.up:');
    expect(await run('-d', 'nosuch.fun')).toEqual({
      exit: 0,
      stdout: '',
      stderr: "No runner function is named 'nosuch.fun'.\n",
    });
  });
});
