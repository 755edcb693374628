// What each switch of a master is where its value is of another type, beside the newest Salt.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOption, loadMasterConfig, masterOptions, optionsByName } from '@brine/config';
import { afterAll, expect, test } from 'vitest';
import { askSalt } from './target-oracle.ts';

const ORACLE = join(import.meta.dirname, 'switches-oracle.py');
const dir = mkdtempSync(join(tmpdir(), 'brine-switches-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const YES = ['true', '"yes"', '"True"', '1', '2', '0.5', '[true]', '{a: 1}', '"maybe"'];
const NO = ['"no"', '"False"', '"off"', '"0"'];
const EMPTY = ['false', '0', '0.0', '""', '[]', '{}'];

/** Where Salt keeps the value as it is, and asks `is True` or `is False` where it uses it. */
const ASKED_AT_USE = new Set([
  ...['auth_events', 'minion_data_cache_events', 'ipv6', 'clean_dynamic_modules'],
  'rotate_aes_key',
]);
/** Here a word that says no opens nothing. */
const CLOSED_BY_WORDS = new Set([
  ...['file_recv', 'allow_minion_key_revoke', 'permissive_pki_access', 'auth.ldap.no_verify'],
  ...['gitfs_insecure_auth', 'keep_acl_in_token', 'permissive_acl', 'fileserver_followsymlinks'],
  ...['order_masters', 'pillar_opts'],
]);

test('switches of another type are what they are with Salt', async () => {
  const names = Object.entries(masterOptions).flatMap(([name, option]) =>
    isOption(option) && option.type === 'flag' && !ASKED_AT_USE.has(name) ? [name] : [],
  );
  const asked = names.flatMap((name) =>
    [...YES, ...EMPTY, ...(CLOSED_BY_WORDS.has(name) ? [] : NO)].map((value) => ({
      name,
      text: `${name}: ${value}\n`,
    })),
  );
  const theirs = await askSalt(asked, ORACLE);
  const ours = asked.map(({ name, text }) => {
    writeFileSync(join(dir, 'master'), text);
    const { options } = loadMasterConfig({ configDir: dir, env: {} });
    return optionsByName(options).get(name);
  });
  const differ = asked.flatMap(({ text }, at) =>
    ours[at] === theirs[at] ? [] : [`${text.trim()}: ${JSON.stringify([ours[at], theirs[at]])}`],
  );
  expect(asked.length).toBeGreaterThan(800);
  expect(differ).toEqual([]);
});
