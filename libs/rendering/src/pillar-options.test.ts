import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { mapOf, pack, unpackMap } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { directoriesOf, namedOptions, pillarOptions } from './pillar-options.ts';

let dir = '';
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'brine-options-'))));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function optionsOf(text: string): MasterOptions {
  writeFileSync(join(dir, 'master'), text);
  return loadMasterConfig({ configDir: dir, env: {} }).options;
}

test('templates see the options by their names in the file, unset ones as None', () => {
  const named = namedOptions(optionsOf('pillar_roots:\n  base: [/a]\n'));
  expect(unpackMap(pack(named))).toEqual(named);
  expect(named.get('pillar_roots')).toEqual(mapOf({ base: ['/a'] }));
  expect(named.get('pillar_source_merging_strategy')).toBe('smart');
  expect(named.get('log_level_logfile')).toBeDefined();
  expect(named.has('brine')).toBe(false);
});

test.each([
  [
    '[a, "b:c"]',
    [
      ['a', 'gpg'],
      ['b:c', 'gpg'],
    ],
  ],
  [
    '[{a: gpg}, b]',
    [
      ['a', 'gpg'],
      ['b', 'gpg'],
    ],
  ],
  ['{a: nacl}', [['a', 'nacl']]],
])('decrypt_pillar: %s', (text, keys) => {
  expect(pillarOptions(optionsOf(`decrypt_pillar: ${text}\n`)).decrypt.keys).toEqual(keys);
});

test('the lists of renderers are those of the file, a single text is a list of one', () => {
  const read = pillarOptions(
    optionsOf('renderer_blacklist: py\nrenderer_whitelist: [jinja, yaml]'),
  );
  expect(read.rendererBlacklist).toEqual(['py']);
  expect(read.rendererWhitelist).toEqual(['jinja', 'yaml']);
});

test('a directory alone is a list of one', () => {
  expect(directoriesOf({ base: '/a', dev: ['/b', '/c'] })).toEqual({
    base: ['/a'],
    dev: ['/b', '/c'],
  });
});
