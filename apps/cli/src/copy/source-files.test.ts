import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Exit } from '../exit-codes.ts';
import { goesIntoDirectory, listSources, remotePath } from './source-files.ts';

const DIR = mkdtempSync(join(tmpdir(), 'brine-cp-test-'));
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

const at = (...parts: string[]): string => join(DIR, ...parts);
mkdirSync(at('tree', 'inner', 'empty'), { recursive: true });
writeFileSync(at('tree', 'a'), 'a');
writeFileSync(at('tree', 'inner', 'b'), 'b');
chmodSync(at('tree', 'inner', 'b'), 0o755);
chmodSync(at('tree', 'a'), 0o640);
symlinkSync('../a', at('tree', 'inner', 'link'));
symlinkSync('..', at('tree', 'inner', 'loop'));
writeFileSync(at('single'), 's');

test('lists files with their modes and empty directories, and follows links but loops', async () => {
  const told: string[] = [];
  const tree = await listSources([at('tree')], (text) => told.push(text));
  const modes = tree.files.map(({ path, mode }) => [path.slice(DIR.length), mode.toString(8)]);
  expect(modes).toEqual([
    ['/tree/a', '640'],
    ['/tree/inner/b', '755'],
    ['/tree/inner/link', '640'],
  ]);
  expect(tree.emptyDirs).toEqual([at('tree', 'inner', 'empty')]);
  expect(told).toEqual([
    `${at('tree', 'inner', 'loop')} is a link to a directory above it: it is not copied`,
  ]);
});

test('a source that does not exist ends the command with 42', async () => {
  const failure = await listSources([at('none')], () => undefined).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(Exit);
  expect(failure).toMatchObject({ code: 42, text: `${at('none')} does not exist\n` });
});

test('what is no regular file is left out with a line', async () => {
  const told: string[] = [];
  const tree = await listSources(['/dev/null'], (text) => told.push(text));
  expect(tree.files).toEqual([]);
  expect(told).toEqual(['/dev/null is no regular file: it is not copied']);
});

// Each row as os.path.join and os.path.relpath in salt/cli/cp.py make it.
test.each([
  [['/x/single'], '/to/name', '/x/single', '/to/name'],
  [['/x/single'], '/to/', '/x/single', '/to/single'],
  [['/x/single', '/x/more'], '/to', '/x/more', '/to/more'],
  [['/x/tree'], '/to', '/x/tree/inner/b', '/to/tree/inner/b'],
  [['/x/other', '/x/tree'], '/to/', '/x/tree/a', '/to/tree/a'],
  [['/x/tree', '/x/tree2'], 'C:\\to', '/x/tree2/a', 'C:\\to/tree2/a'],
])('of %j to %s, %s goes to %s', (sources, dest, path, wanted) => {
  const files = sources.length > 1 || path !== sources[0] ? [path, 'another'] : [path];
  const tree = { files: files.map((one) => ({ path: one, mode: 0o644 })), emptyDirs: [] };
  const into = goesIntoDirectory(tree, dest);
  expect(remotePath(path, { sources, dest }, into)).toBe(wanted);
});
