import { execFileSync } from 'node:child_process';
import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { YamlLoadError } from './errors.ts';
import { loadYaml } from './load.ts';
import { YamlWork, YamlWorkError } from './work.ts';

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

test('aliases of aliases are stopped', () => {
  const nine = (name: string): string => `[${Array.from({ length: 9 }, () => name).join(',')}]`;
  const text = `{a: &a ${nine('x')}, b: &b ${nine('*a')}, c: &c ${nine('*b')}, d: ${nine('*c')}}`;
  expect(() => loadYaml(text)).toThrow(YamlWorkError);
  expect(loadYaml('{a: &a [1], b: *a, c: &c 2, d: *c}')).toEqual(
    mapOf({ a: [1], b: [1], c: 2, d: 2 }),
  );
});

test('texts that share the work of a peer are read up to it, a file may be longer', () => {
  const text = `[${'1,'.repeat(3_000)}]`;
  const work = YamlWork.ofPeer();
  expect(loadYaml(text, work)).toHaveLength(3_000);
  expect(() => loadYaml(text, work)).toThrow(YamlWorkError);
  const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}: 1`).join('\n');
  expect(loadYaml(keys, YamlWork.ofFile())).toHaveProperty('size', 20_000);
  expect(() => loadYaml(keys)).toThrow(YamlWorkError);
});

// In a process of its own, where no regular expression of the parser has been used before: V8 ends
// a process that uses its first one where the stack nearly ends.
test('a text that is nested deep is refused, and the process lives on', { timeout: 60_000 }, () => {
  const deep = ['[', '{a: ', '- ', '? ', '- ? ', '{<<: ', '[ {a: '];
  const texts = deep.map((one) => one.repeat(8_000 / one.length));
  const source = `
    import { loadYaml, YamlWork } from '@brine/yaml';
    for (const text of ${JSON.stringify(texts)}) {
      for (const work of [YamlWork.ofPeer(), YamlWork.ofFile()]) {
        try { loadYaml(text, work); } catch (error) { console.log(error.message); }
      }
    }`;
  const args = ['--import', 'tsx', '--conditions=source', '--input-type=module', '-e', source];
  const told = execFileSync(process.execPath, args, { cwd: import.meta.dirname }).toString();
  expect(told).toBe('nested too deep\n'.repeat(2 * deep.length));
});
