import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';

const DIR = mkdtempSync(join(tmpdir(), 'brine-stock-call-'));
const SEEN = join(DIR, 'seen');
const PYTHON = join(DIR, 'python3');

beforeAll(() => {
  // Stands for the interpreter: keeps the words after `-c <program>`, and ends with 7.
  const program = `[ "$1" = -c ] || exit 1\nshift 2\necho "$@" >'${SEEN}'\nexit 7`;
  writeFileSync(PYTHON, `#!/bin/sh\n${program}\n`);
  chmodSync(PYTHON, 0o755);
});
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

async function call(python: string, ...args: readonly string[]) {
  writeFileSync(join(DIR, 'minion'), `id: web1\nroot_dir: ${DIR}\nbrine: {python: ${python}}\n`);
  writeFileSync(SEEN, '');
  const written = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    isTerminal: false,
    ownsSignals: false,
    out: (text) => void (written.stdout += text),
    err: (text) => void (written.stderr += text),
    ask: async () => undefined,
    askSecret: async () => undefined,
    readInput: async () => '',
  };
  const exit = await runCommandLine('salt-call', ['-c', DIR, '--local', ...args], terminal);
  return { exit, ...written, seen: readFileSync(SEEN, 'utf8') };
}

test.each([
  ['state.apply', 'web'],
  ['-d', 'state.apply'],
  ['no.such', 'a=1'],
])('%s %s goes to the salt-call of brine.python, with its exit code', async (...args) => {
  const seen = `-c ${DIR} --local ${args.join(' ')}\n`;
  expect(await call(PYTHON, ...args)).toEqual({ exit: 7, stdout: '', stderr: '', seen });
});

test.each([
  [['test.echo', 'here'], 'local:\n    here\n'],
  [['-d', 'test.echo'], 'test.echo:\nReturn a string - used for testing the connection.\n\n'],
])('%j is answered here', async (args, stdout) => {
  expect(await call(PYTHON, ...args)).toEqual({ exit: 0, stdout, stderr: '', seen: '' });
});

test('an interpreter that is not there is an error with its name', async () => {
  const { exit, stderr } = await call(join(DIR, 'none'), 'state.apply');
  expect(exit).toBe(1);
  expect(stderr).toContain(`brine.python: spawn ${join(DIR, 'none')} ENOENT`);
});
