import { expect, test } from 'vitest';
import { ChangedFiles } from './changed-files.ts';
import { ImportGraph, type Tree } from './import-graph.ts';
import { rowsOf } from './other-reads.ts';
import { Reach } from './reach.ts';

/** A tree in memory: path → text. */
function treeOf(files: Readonly<Record<string, string>>): Tree {
  return { paths: Object.keys(files), text: (path) => files[path] ?? '' };
}

const FILES = {
  'libs/a/package.json': JSON.stringify({
    name: '@brine/a',
    exports: { '.': { source: './src/index.ts' }, './deep': { source: './src/deep/index.ts' } },
  }),
  'libs/a/src/index.ts': [
    `export { one } from './one.ts';`,
    `export { two as second } from './two.ts';`,
    `export type { T } from './types.ts';`,
  ].join('\n'),
  'libs/a/src/one.ts': [
    `import { readFileSync } from 'node:fs';`,
    `export const one = readFileSync(new URL('../sql/one.sql', import.meta.url));`,
  ].join('\n'),
  'libs/a/src/two.ts': [
    `import type { T } from './types.ts';`,
    `export const two: T = await import('./late.ts');`,
  ].join('\n'),
  'libs/a/src/late.ts': 'export const late = 1;',
  'libs/a/src/types.ts': 'export interface T { readonly t: number }',
  'libs/a/sql/one.sql': 'SELECT 1;',
  'libs/a/src/deep/index.ts': `export const deep = 1;`,
  'libs/a/src/a.test.ts': `import { one } from '@brine/a';\none();`,
  'libs/a/src/b.test.ts': `import { second } from '@brine/a';\nsecond();`,
  'libs/a/src/c.test.ts': `import * as all from '@brine/a';\nall;`,
  'libs/a/src/d.test.ts': [
    `import { deep } from '@brine/a/deep';`,
    `read('oracle.py', 'infra/chart.yaml', deep);`,
  ].join('\n'),
  'libs/a/src/oracle.py': 'print()',
  'infra/chart.yaml': 'a: 1',
  'docs/lonely.txt': '',
  'apps/cli/src/command-line.ts': [
    `export const C = [`,
    `  ['key', { load: () => import('./key.ts') }],`,
    `  ['run', { load: () => import('./run.ts') }],`,
    `];`,
  ].join('\n'),
  'apps/cli/src/key.ts': 'export const key = 1;',
  'apps/cli/src/run.ts': 'export const run = 1;',
  'test/e.deep.test.ts': [
    `import { C } from '../apps/cli/src/command-line.ts';`,
    `C('salt-key', 'syndic-relay');`,
  ].join('\n'),
};

function reachedBy(changed: string, files: Readonly<Record<string, string>> = FILES) {
  const tree = treeOf(files);
  const reach = new Reach(new ImportGraph(tree), []);
  const tests = tree.paths.filter((path) => path.endsWith('.test.ts'));
  return tests.filter((path) => reach.of(path).way(changed) !== undefined);
}

test.each([
  ['a door leads only to the file behind the name', 'libs/a/src/one.ts', ['a', 'c']],
  ['a name may be another one at the door', 'libs/a/src/two.ts', ['b', 'c']],
  ['the door itself counts for all who pass it', 'libs/a/src/index.ts', ['a', 'b', 'c']],
  ['an import when it is needed counts', 'libs/a/src/late.ts', ['b', 'c']],
  ['a path beside a source counts', 'libs/a/sql/one.sql', ['a', 'c']],
  ['types alone do not', 'libs/a/src/types.ts', []],
  ['a package counts for each file of it', 'libs/a/package.json', ['a', 'b', 'c', 'd']],
  ['a file beside a test that names it counts', 'libs/a/src/oracle.py', ['d']],
  ['a path from the root that a test names counts', 'infra/chart.yaml', ['d']],
  ['a test reaches itself', 'libs/a/src/a.test.ts', ['a']],
])('%s', (_, changed, expected) => {
  expect(reachedBy(changed)).toEqual(expected.map((name) => `libs/a/src/${name}.test.ts`));
});

test('a command is reached by a test that names it, alone', () => {
  expect(reachedBy('apps/cli/src/key.ts')).toEqual(['test/e.deep.test.ts']);
  expect(reachedBy('apps/cli/src/run.ts')).toEqual([]);
});

test('a row of the table may hold only for tests that give a name', () => {
  const tree = treeOf(FILES);
  const row = { by: /command-line/, reads: ['docs/lonely.txt'] };
  const way = (named: string) => {
    const reach = new Reach(new ImportGraph(tree), rowsOf([{ ...row, named }], tree));
    return reach.of('test/e.deep.test.ts').way('docs/lonely.txt');
  };
  expect(way('syndic-relay')?.length).toBe(3);
  expect(way('syndic_master')).toBeUndefined();
});

test('an import that goes takes its reach along, and the file that lost it is a change', () => {
  const without = { ...FILES, 'libs/a/src/two.ts': 'export const two = 1;' };
  expect(reachedBy('libs/a/src/late.ts', without)).toEqual([]);
  expect(reachedBy('libs/a/src/two.ts', without)).toEqual(reachedBy('libs/a/src/two.ts'));
});

test('of a file that is renamed both names count', () => {
  const { 'libs/a/sql/one.sql': sql, ...others } = FILES;
  const renamed = { ...others, 'libs/a/sql/first.sql': sql };
  // Who names the old path reads what is not there, and must be run to say so.
  const folder = {
    ...renamed,
    'libs/a/src/one.ts': `export const one = new URL('../sql/', import.meta.url);`,
  };
  expect(reachedBy('libs/a/sql/one.sql', folder)).toEqual(reachedBy('libs/a/src/one.ts'));
  expect(reachedBy('libs/a/sql/first.sql', folder)).toEqual(reachedBy('libs/a/src/one.ts'));
});

test('the way says how a change is reached', () => {
  const reach = new Reach(new ImportGraph(treeOf(FILES)), []);
  expect(reach.of('libs/a/src/b.test.ts').way('libs/a/src/late.ts')).toEqual([
    'libs/a/src/b.test.ts',
    'libs/a/src/two.ts',
    'libs/a/src/late.ts',
  ]);
});

test('a door that is not there is an error, and so is a row of the table that names what is gone', () => {
  const tree = treeOf({ ...FILES, 'test/f.test.ts': `import { x } from '@brine/a/none';\nx();` });
  expect(() => new Reach(new ImportGraph(tree), []).of('test/f.test.ts')).toThrow('no door');
  expect(() => rowsOf([{ by: /x/, reads: ['gone.sql'] }], tree)).toThrow('gone.sql is gone');
  expect(() => rowsOf([{ by: /x/, reads: [/gone/] }], tree)).toThrow('no file matches /gone/');
});

test('what no test is known to read is named, but for what the table gives to no test', () => {
  const files = new ChangedFiles(treeOf({ ...FILES, LICENSE: '', 'docs/a.md': '' }), {
    reads: [{ by: /d\.test\.ts$/, reads: [/\.md$/] }],
    untested: [{ paths: /^LICENSE$/, why: 'for people' }],
  });
  const { tests, unknown } = files.reach(
    ['docs/lonely.txt', 'LICENSE', 'libs/a/src/types.ts', 'libs/a/src/gone.ts', 'docs/a.md'],
    Object.keys(FILES).filter((path) => path.endsWith('.test.ts')),
  );
  expect([...tests.keys()]).toEqual(['libs/a/src/d.test.ts']);
  expect(unknown).toEqual(['docs/lonely.txt']);
});
