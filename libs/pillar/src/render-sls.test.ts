import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { optionsOf } from '../test/trees.ts';
import { compilePillar, type PillarPorts, renderStateFile } from './index.ts';

const TOP = 'base: {"*": [a]}';

function portsOf(files: Readonly<Record<string, string>>) {
  const lines: string[] = [];
  const ports = {
    files: {
      environments: ['base'],
      read: (_env: string, path: string) => files[path],
      list: () => Object.keys(files),
    },
    outside: { now: () => 0, random: () => 0 },
    functions: () => new Map(),
    decrypt: (value: SaltValue) => value,
    external: () => undefined,
    log: (_level: string, text: string) => void lines.push(text),
  } satisfies PillarPorts;
  return { ports, lines };
}

const MINION = {
  id: 'm',
  grains: mapOf({}),
  saltenv: null,
  pillarenv: null,
  override: mapOf({}),
  ext: null,
};
const OPTIONS = optionsOf(mapOf({}));

/** The pillar of a minion, and what the compiler said. */
function pillarOf(a: string, top = TOP): { readonly pillar: SaltValue; readonly log: string } {
  const { ports, lines } = portsOf({ 'top.sls': top, 'a.sls': a });
  const pillar = compilePillar(ports, OPTIONS, MINION);
  return { pillar, log: lines.join('\n') };
}

/** What a file of states or of a reaction says, whose template has these names. */
function stateFileOf(text: string, defaults: SaltMap = mapOf({})): SaltValue {
  const { ports } = portsOf({ 'a.sls': text });
  const context = { ports, options: OPTIONS, minion: MINION, pillar: mapOf({}) };
  return renderStateFile(context, { saltenv: 'base', path: 'a.sls', sls: 'a', defaults });
}

const TWICE =
  'while constructing a mapping\n  in "<unicode string>", line 1, column 1\n' +
  'found conflicting ID \'x\'\n  in "<unicode string>", line 3, column 1';

describe('a key twice is told with the places of the map and of the key', () => {
  test('in a pillar', () => {
    expect(pillarOf('x: 1\ny: 2\nx: 3\n').log).toContain(
      `Rendering SLS 'a' failed, render error:\n${TWICE}`,
    );
  });

  test('in a top file', () => {
    expect(pillarOf('', 'x: 1\ny: 2\nx: 3\n').pillar).toEqual(
      mapOf({ _errors: [`Rendering Primary Top file failed, render error:\n${TWICE}`] }),
    );
  });

  test('in what load_yaml reads', () => {
    const { log } = pillarOf(
      '{% load_yaml as it %}\nx: 1\ny: 2\nx: 3\n{% endload %}\na: {{ it }}\n',
    );
    expect(log).toContain(
      'Encountered error loading yaml: while constructing a mapping\n' +
        '  in "<unicode string>", line 2, column 1\n' +
        'found conflicting ID \'x\'\n  in "<unicode string>", line 4, column 1',
    );
  });

  test('in a file of states', () => {
    expect(() => stateFileOf('x: 1\ny: 2\nx: 3\n')).toThrow(TWICE);
  });
});

describe('texts that go on at the column of their parent are read', () => {
  const TEXTS: [string, SaltValue][] = [
    ['banner: "Welcome\nto all"\n', mapOf({ banner: 'Welcome to all' })],
    ['policy: {"a": 1,\n"b": [\n1]}\n', mapOf({ policy: mapOf({ a: 1, b: [1] }) })],
    ['%YAML 1.1\n---\na: 1\n', mapOf({ a: 1 })],
  ];

  test.each(TEXTS)('in a pillar: %j', (text, value) => {
    const { pillar, log } = pillarOf(text);
    expect(log).toBe('');
    expect(pillar).toEqual(value);
  });

  test.each(TEXTS)('in a file of states: %j', (text, value) => {
    expect(stateFileOf(text)).toEqual(value);
  });

  test('in a reaction whose event has a line end', () => {
    const reaction = "tell:\n  local.event.send:\n    - tgt: '{{ data.msg }}'\n";
    const data = mapOf({ msg: 'one\ntwo\n\nthree' });
    expect(stateFileOf(reaction, mapOf({ data }))).toEqual(
      mapOf({ tell: mapOf({ 'local.event.send': [mapOf({ tgt: 'one two\nthree' })] }) }),
    );
  });
});

test('an ordered map is a map, in load_yaml too', () => {
  const { pillar } = pillarOf(
    '{% load_yaml as it %}\n!!omap {b: 1, a: 2}\n{% endload %}\nkeys: {{ it | list }}\n' +
      'own: !!omap {b: 1, a: 2}\n',
  );
  expect(pillar).toEqual(mapOf({ keys: ['b', 'a'], own: mapOf({ b: 1, a: 2 }) }));
  const own = isMap(pillar) ? pillar.get('own') : undefined;
  expect(isMap(own) && [...own.keys()]).toEqual(['b', 'a']);
});
