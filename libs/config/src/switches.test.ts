// What a value of another type than a switch's makes of it. What stock Salt makes of the same
// values: test/interop/differential/switches.masters.test.ts.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { loadMasterConfig } from './master.ts';
import { camelCase, isOption } from './option.ts';
import { masterOptions } from './options/master.ts';

const dir = mkdtempSync(join(tmpdir(), 'brine-switches-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function read(text: string) {
  writeFileSync(join(dir, 'master'), text);
  const { options, warnings } = loadMasterConfig({ configDir: dir, env: {} });
  const odd = warnings.filter(({ kind }) => kind === 'odd').map((warning) => warning.text);
  return { options: options as unknown as Record<string, unknown>, odd };
}

const SWITCHES = Object.entries(masterOptions).flatMap(([name, option]) =>
  isOption(option) && option.type === 'flag' ? [name] : [],
);
const YES = ['"yes"', '"True"', '1', '2', '0.5', '[true]', '{a: 1}', '"maybe"'];
const NO = ['"no"', '"False"', '"off"', '"0"'];
const EMPTY = ['0', '0.0', '""', '[]', '{}'];

const BY_TRUE = ['open_mode', 'auto_accept', 'auth_events', 'minion_data_cache_events', 'ipv6'];

test.each([...BY_TRUE, 'clean_dynamic_modules'])('%s is on by a literal true alone', (name) => {
  for (const value of [...YES, ...NO, ...EMPTY]) {
    const { options, odd } = read(`${name}: ${value}\n`);
    expect([value, options[camelCase(name)]]).toEqual([value, false]);
    expect(odd).toEqual([
      `Option '${name}' in ${dir}/master, line 1, must be true or false; it counts as false`,
    ]);
  }
  expect(read(`${name}: True\n`)).toMatchObject({ options: { [camelCase(name)]: true }, odd: [] });
});

test('rotate_aes_key is off by a literal false alone', () => {
  for (const value of [...YES, ...NO, ...EMPTY]) {
    expect(read(`rotate_aes_key: ${value}\n`).options['rotateAesKey']).toBe(true);
  }
  expect(read('rotate_aes_key: no\n').options['rotateAesKey']).toBe(false);
});

const OPENING = [
  ...['file_recv', 'allow_minion_key_revoke', 'permissive_pki_access', 'auth.ldap.no_verify'],
  ...['gitfs_insecure_auth', 'keep_acl_in_token', 'permissive_acl', 'fileserver_followsymlinks'],
  ...['order_masters', 'pillar_opts'],
];

test.each(OPENING)('%s is not opened by a word that says no', (name) => {
  for (const value of [...NO, ...EMPTY]) {
    expect([value, read(`${name}: ${value}\n`).options[camelCase(name)]]).toEqual([value, false]);
  }
  for (const value of YES) {
    expect([value, read(`${name}: ${value}\n`).options[camelCase(name)]]).toEqual([value, true]);
  }
});

test('any other switch counts as in Python', () => {
  const others = SWITCHES.filter(
    (name) => ![...BY_TRUE, ...OPENING, 'clean_dynamic_modules', 'rotate_aes_key'].includes(name),
  );
  expect(others.length).toBeGreaterThan(40);
  for (const name of others) {
    for (const value of [...YES, ...NO, ...EMPTY]) {
      const { options, odd } = read(`${name}: ${value}\n`);
      const counts = !EMPTY.includes(value);
      expect([name, value, options[camelCase(name)]]).toEqual([name, value, counts]);
      expect(odd).toHaveLength(1);
    }
  }
});

test("Brine's own switches take words, and refuse what is no word", () => {
  expect(read('brine: {progress: "no"}\n').options).toMatchObject({ brine: { progress: false } });
  expect(() => read('brine: {progress: maybe}\n')).toThrow(/must be true or false/);
});
