import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { programOf } from './program-of.ts';

let root: string;
let apps: string;
const SOURCE = 'libs/a/dist/a.js';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'brine-program-'));
  apps = join(root, 'apps');
  for (const dir of ['apps/x/dist/joined', 'libs/a/dist'])
    mkdirSync(join(root, dir), { recursive: true });
  writeFileSync(join(root, SOURCE), '');
});
afterEach(() => rmSync(root, { recursive: true }));

function joinedOf(paths: readonly string[]): void {
  writeFileSync(join(apps, 'x/dist/joined/made-of.json'), JSON.stringify(paths));
}

function touch(path: string, at: number): void {
  utimesSync(join(root, path), at, at);
}

const built = () => join(apps, 'x/dist/main.js');
const joined = () => join(apps, 'x/dist/joined/main.js');

test('a program that was joined after its last build is taken', () => {
  joinedOf([SOURCE]);
  touch(SOURCE, 100);
  expect(programOf(apps, 'x')).toBe(joined());
  expect(programOf(apps, 'x', 'other.js')).toBe(join(apps, 'x/dist/joined/other.js'));
});

test('where a file it was made of is newer or gone, what the compiler wrote is taken', () => {
  joinedOf([SOURCE]);
  touch('apps/x/dist/joined/made-of.json', 100);
  expect(programOf(apps, 'x')).toBe(built());
  joinedOf(['libs/a/dist/gone.js']);
  expect(programOf(apps, 'x')).toBe(built());
});

test('where nothing was joined, as in a package, too', () => {
  expect(programOf(apps, 'x')).toBe(built());
});
