import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BUILD_FOLDERS, isNeeded, RUN_FOLDERS } from './program-tree.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

test('each folder of a library or an app is known to run, or to be left out', () => {
  const known = new Set([...RUN_FOLDERS, ...BUILD_FOLDERS]);
  const folders = ['libs', 'apps'].flatMap((kind) =>
    readdirSync(join(ROOT, kind)).flatMap((name) =>
      readdirSync(join(ROOT, kind, name), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => ({ path: `${kind}/${name}/${entry.name}`, folder: entry.name })),
    ),
  );
  expect(folders.length).toBeGreaterThan(50);
  expect(folders.filter(({ folder }) => !known.has(folder))).toEqual([]);
});

test('licences and what runs are packed; types, maps, sources, tests and other platforms are not', () => {
  const of = (name: string) => (path: string) => isNeeded(path, `/repository/node_modules/${name}`);
  const pg = of('pg');
  expect(['', 'lib', 'lib/index.js', 'LICENSE', 'LICENSE.md', 'package.json'].every(pg)).toBe(true);
  const out = ['README.md', 'lib/index.d.ts', 'lib/index.js.map', 'node_modules', 'src/a.ts'];
  expect(out.filter(pg)).toEqual([]);
  expect(['test', 'benchmarks', 'docs', '.github', '.npmignore', 'run.sh'].filter(pg)).toEqual([]);
  expect(['lib/test', 'dist/docs', 'lib/test.js'].filter((path) => !pg(path))).toEqual([]);
  const zeromq = of('zeromq');
  const here = `build/${process.platform}/${process.arch}`;
  const kept = ['build', `build/${process.platform}`, here, `${here}/node/x/addon.node`];
  expect([...kept, 'build/manifest.json'].filter((path) => !zeromq(path))).toEqual([]);
  const other = process.arch === 'x64' ? 'arm64' : 'x64';
  expect([`build/${process.platform}/${other}`, 'build/win32'].filter(zeromq)).toEqual([]);
});

test('the pages of the console are packed, with the licences of what is in them', () => {
  const app = join(ROOT, 'apps/console');
  const paths = ['dist/site/index.html', 'dist/site/assets/a-1.js.br', 'dist/site/licences.md'];
  expect(paths.filter((path) => !isNeeded(path, app))).toEqual([]);
  expect(['dist/types/main.d.ts', 'README.md'].filter((path) => isNeeded(path, app))).toEqual([]);
});

test('the native part of the crypticle is packed where it is built, without its sources', () => {
  const native = join(ROOT, 'libs/crypt/native');
  expect(existsSync(native)).toBe(true);
  const paths = ['', 'dist', 'dist/crypticle.node', 'dist/target', 'src', 'Cargo.toml'];
  expect(paths.filter((path) => isNeeded(path, native))).toEqual(paths.slice(0, 3));
});
