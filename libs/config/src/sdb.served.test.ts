import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadMasterConfig } from './master.ts';
import { effectiveOptions } from './reference/effective.ts';
import { SDB_VARIABLE } from './sdb.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-sdb-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

/** A program in the place of an interpreter: notes its input, and runs a line of shell. */
function interpreter(line: string): string {
  const path = join(dir, 'python');
  writeFileSync(path, `#!/bin/sh\ncat > ${dir}/asked\necho called >> ${dir}/calls\n${line}\n`);
  chmodSync(path, 0o755);
  return path;
}

function load(lines: string, python: string, env: Record<string, string> = {}) {
  writeFileSync(join(dir, 'master'), `brine: {python: '${python}'}\n${lines}`);
  return loadMasterConfig({ configDir: dir, env: { PATH: '/usr/bin:/bin', ...env } });
}

const ANSWER = `echo '{"sdb://safe/pass": "hunter2", "sdb://safe/url": "postgres://u:p@h/b"}'`;
const LINES = 'key_pass: sdb://safe/pass\nbrine_site:\n  urls: [a, "sdb://safe/url"]\n';

test('an address stands for what the interpreter reads, wherever it is', () => {
  const { options, sdb } = load(LINES, interpreter(ANSWER));
  expect(options.keyPass).toBe('hunter2');
  expect(options.written['brine_site']).toEqual({ urls: ['a', 'postgres://u:p@h/b'] });
  expect(sdb).toEqual({ 'sdb://safe/pass': 'hunter2', 'sdb://safe/url': 'postgres://u:p@h/b' });
  expect(JSON.parse(readFileSync(join(dir, 'asked'), 'utf8'))).toEqual({
    file: join(dir, 'master'),
    addresses: ['sdb://safe/pass', 'sdb://safe/url'],
  });
});

test('a service that got them from its supervisor does not ask again', () => {
  const python = interpreter(ANSWER);
  const { sdb } = load(LINES, python);
  const { options } = load(LINES, python, { [SDB_VARIABLE]: JSON.stringify(sdb) });
  expect(options.keyPass).toBe('hunter2');
  expect(readFileSync(join(dir, 'calls'), 'utf8')).toBe('called\n');
});

test('a configuration without addresses starts no interpreter', () => {
  const { sdb } = load('interface: 127.0.0.1\n', '/nonexistent/python');
  expect(sdb).toEqual({});
});

test.each([
  ['', LINES, 'line 2, is an address of sdb that can not be read: set brine.python to the'],
  ['/nonexistent/python', LINES, 'can not be read by /nonexistent/python: ENOENT'],
])('without an interpreter (%j) it is refused, by option and line', (python, lines, text) => {
  expect(() => load(lines, python)).toThrow(text);
});

test('an address that names nothing is refused, and so is a failure, in its last words', () => {
  const pass = 'key_pass: sdb://safe/pass\n';
  expect(() => load(pass, interpreter(`echo '{"sdb://safe/pass": null}'`))).toThrow(
    "Option 'key_pass' in " + `${dir}/master, line 2, is an address of sdb that names nothing`,
  );
  expect(() => load(pass, interpreter('echo trace >&2; echo no vault >&2; exit 1'))).toThrow(
    /can not be read by .*python: no vault$/,
  );
});

test('what it stands for is not shown, whatever the option is called', () => {
  load('range_server: sdb://safe/pass\n', interpreter(ANSWER));
  const env = { PATH: '/usr/bin:/bin' };
  const shown = effectiveOptions({ configDir: dir, env }).find(
    ({ name }) => name === 'range_server',
  );
  expect(shown?.value).toBe('********');
});
