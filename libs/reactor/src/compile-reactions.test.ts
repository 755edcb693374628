import { mapOf, type SaltMap } from '@brine/wire';
import { loadYaml, YamlWork } from '@brine/yaml';
import { describe, expect, test } from 'vitest';
import { compileReactions, declarationsOf } from './compile-reactions.ts';

/** Compiles the data of a file, as the reactor does it. */
function compiled(yaml: string): ReturnType<typeof compileReactions> {
  return compileReactions(declarationsOf(loadYaml(yaml, YamlWork.ofFile()), '/srv/r.sls'));
}

/** The reactions as texts: kind, name, function, order. */
function told(chunks: readonly SaltMap[]): unknown[] {
  return chunks.map((one) => ['state', 'name', 'fun', 'order'].map((key) => one.get(key)));
}

test('a reaction has the fields of its declaration', () => {
  const { chunks, errors } = compiled(
    'install:\n  cmd.state.single:\n    - tgt: web*\n    - args:\n      - fun: pkg.installed\n',
  );
  expect(errors).toEqual([]);
  expect(chunks).toEqual([
    mapOf({
      state: 'local',
      name: 'install',
      __sls__: '/srv/r.sls',
      __id__: 'install',
      tgt: 'web*',
      args: [mapOf({ fun: 'pkg.installed' })],
      fun: 'state.single',
      order: 1,
    }),
  ]);
});

describe('the order is that of Salt', () => {
  test('by kind, name and function where no order is given', () => {
    const { chunks } = compiled(
      [
        'zz:\n  local.test.ping:\n    - tgt: a',
        'aa:\n  runner.manage.up: []',
        'mm:\n  local.test.ping:\n    - tgt: b',
        'bb:\n  wheel.key.list_all: []',
      ].join('\n'),
    );
    expect(told(chunks)).toEqual([
      ['local', 'mm', 'test.ping', 1],
      ['local', 'zz', 'test.ping', 1],
      ['runner', 'aa', 'manage.up', 1],
      ['wheel', 'bb', 'key.list_all', 1],
    ]);
  });

  test('by order first; first and last are at the ends', () => {
    const { chunks } = compiled(
      [
        'a:\n  local.test.ping:\n    - tgt: a\n    - order: last',
        'b:\n  local.test.ping:\n    - tgt: a\n    - order: 10',
        'c:\n  local.test.ping:\n    - tgt: a',
        'd:\n  local.test.ping:\n    - tgt: a\n    - order: first',
      ].join('\n'),
    );
    expect(chunks.map((one) => one.get('name'))).toEqual(['d', 'b', 'c', 'a']);
  });

  test('names of one declaration keep theirs', () => {
    const { chunks } = compiled('x:\n  local.test.ping:\n    - tgt: a\n    - names: [z, b, y]\n');
    expect(chunks.map((one) => one.get('name'))).toEqual(['z', 'b', 'y']);
  });
});

test('two functions of one kind in a declaration, and other forms, are errors of all', () => {
  expect(compiled('x:\n  local:\n    - test.ping\n    - test.version\n')).toMatchObject({
    chunks: [],
    errors: [expect.stringContaining('Too many functions declared')],
  });
  expect(compiled('x:\n  local: []\ny:\n  runner.manage.up: []\n')).toMatchObject({
    chunks: [],
    errors: [expect.stringContaining("No function declared in state 'x'")],
  });
});

test('a requisite orders, as the compiler of states does it, and a circle is an error', () => {
  const one = 'z:\n  local.test.ping:\n    - tgt: a\n';
  const two = 'a:\n  local.test.ping:\n    - tgt: a\n    - require:\n      - local: z\n';
  expect(compiled(one + two).chunks.map((chunk) => chunk.get('name'))).toEqual(['z', 'a']);
  const circle = 'z:\n  local.test.ping:\n    - tgt: a\n    - require:\n      - local: a\n';
  expect(compiled(circle + two).errors).toEqual([
    expect.stringContaining('Recursive requisites were found'),
  ]);
});

test('a short declaration is one without arguments', () => {
  expect(told(compiled('x: runner.manage.up\n').chunks)).toEqual([['runner', 'x', 'manage.up', 1]]);
});

test.each([
  ['- a\n- b\n', 'does not render to a dictionary'],
  ['x: text\n', "'x' in /srv/r.sls is no dictionary"],
  ['include:\n  - other\n', "'include' in /srv/r.sls is no dictionary"],
  ['x:\n  5:\n    - a\n', 'has a key that is no text'],
])('%j is refused', (yaml, text) => {
  expect(() => compiled(yaml)).toThrow(text);
});

test('a thousand reactions to one event are the most', () => {
  const many = Array.from({ length: 1_001 }, (_, at) => `x${at}: runner.manage.up`).join('\n');
  expect(compiled(many).errors).toEqual(['More than 1000 reactions to one event']);
});
