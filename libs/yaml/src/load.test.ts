import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { loadYaml, YamlLoadError } from './load.ts';

test.each([
  '!!python/object/apply:os.system ["true"]',
  '!!python/object:os.system {a: 1}',
  '!!python/name:os.system x',
  'a: !!python/tuple [1, 2]',
  'a: !ruby/object:Gem [1]',
  '- !other {a: 1}',
  '!!js/function "x"',
])('CVE-2025-62348: %s is refused', (text) => {
  expect(() => loadYaml(text)).toThrow(YamlLoadError);
});

test.each([
  ['a: |\n x\n y', 'x\ny'],
  ['a: >\n x\n y', 'x y'],
  ['a: |+\n x', 'x'],
  ['a: |+\n x\n', 'x\n'],
  ['a: |\n x\n y\n', 'x\ny\n'],
])('%j ends where the text ends', (text, a) => {
  expect(loadYaml(text)).toEqual(mapOf({ a }));
});

test('tags of plain values are taken', () => {
  expect(loadYaml('{a: !!str 1, b: !!seq [1], c: !!map {d: 2}}')).toEqual(
    mapOf({ a: '1', b: [1], c: mapOf({ d: 2 }) }),
  );
});
