import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '../command-line.ts';

const DIR = mkdtempSync(join(tmpdir(), 'brine-events-'));
beforeAll(() => writeFileSync(join(DIR, 'master'), `root_dir: ${DIR}\n`));
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

async function events(...words: readonly string[]) {
  const written = { stdout: '', stderr: '' };
  const exit = await runCommandLine('brine', ['events', '-c', DIR, ...words], {
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

test.each([
  [['--from', 'soon'], '--from is neither a time'],
  [['--to', 'soon'], '--to is no time: soon'],
  [['--kind', 'ret,audit'], '--kind: audit is none of ret, minion'],
  [['--count', 'many'], "invalid integer value: 'many'"],
  [['salt/*'], 'events takes options only'],
])('%j is a wrong use, and says why', async (words, why) => {
  const { exit, stdout, stderr } = await events(...words);
  expect({ exit, stdout }).toEqual({ exit: 64, stdout: '' });
  expect(stderr).toContain(why);
});

test('without a master it ends at once and says so', async () => {
  const { exit, stdout, stderr } = await events('--from', '1h');
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
  expect(stderr).toContain('Is master running?');
});

test('its help names what may be filtered', async () => {
  const { exit, stdout } = await events('--help');
  expect(exit).toBe(0);
  for (const name of ['--from', '--tag', '--minion', '--jid', '--kind', '--json', '--count']) {
    expect(stdout).toContain(name);
  }
});
