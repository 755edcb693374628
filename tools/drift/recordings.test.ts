import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { NEWEST_SALTS, newestOf, SALT_VERSIONS } from '@brine/testing';
import { SALT_RELEASE } from '@brine/wire';
import { expect, test } from 'vitest';
import { ROOT } from '../tests/repository.ts';
import { filledIn, isRecording, lineOf, linesAsked, readTable, TABLE } from './recordings.ts';

const ENTRIES = readTable();
const RECORDINGS = Object.entries(ENTRIES).flatMap(([path, entry]) =>
  isRecording(entry) ? [[path, entry] as const] : [],
);

/** Files of data below a folder. */
function dataBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)));
}

/** The folders of fixtures: that of all tests, and those of libraries and apps. */
function folders(): string[] {
  const own = ['libs', 'apps'].flatMap((group) =>
    readdirSync(join(ROOT, group)).map((name) => `${group}/${name}`),
  );
  const named = own.filter((dir) => readdirSync(join(ROOT, dir)).includes('fixtures'));
  return ['test/fixtures', ...named.map((dir) => `${dir}/fixtures`)];
}

/** The releases that a recording names in itself: of its cases, or as its first keys. */
function releasesIn(path: string): readonly string[] {
  const found = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as unknown;
  const named = Array.isArray(found)
    ? found.map((part: { readonly version?: unknown } | null) => part?.version)
    : Object.keys(found as object);
  const releases = named.filter((one) => typeof one === 'string' && /^\d{4}\.\d+$/.test(one));
  return [...new Set(releases as string[])].sort();
}

test('each file of data says which Salt it was recorded from, or who made it', () => {
  const files = folders().flatMap(dataBelow);
  const told = Object.keys(ENTRIES);
  expect(told).toEqual(files.filter((path) => path !== TABLE).sort());
});

test.each(RECORDINGS)('%s: of releases that tests know, each once', (_path, { salt }) => {
  expect(salt.length).toBeGreaterThan(0);
  expect(salt.filter((one) => !(SALT_VERSIONS as readonly string[]).includes(one))).toEqual([]);
  expect(new Set(salt).size).toBe(salt.length);
});

// The commands of the newest releases run these cases, and a text names lines of their source.
test.each(RECORDINGS.filter(([path]) => path.startsWith('test/fixtures/transcripts/')))(
  '%s: of the newest release of each line, or never recorded again',
  (_path, { salt, once }) => {
    if (once === undefined) expect(NEWEST_SALTS).toEqual(expect.arrayContaining([...salt]));
  },
);

test.each(RECORDINGS)('%s: recorded again by a line for sh, or it says why not', (_path, entry) => {
  const { salt, again, once } = entry;
  expect([again, once].filter((one) => one !== undefined)).toHaveLength(1);
  if (again?.includes('{out}') !== true) return;
  expect([...linesAsked(again)].sort()).toEqual([...new Set(salt.map(lineOf))].sort());
});

test.each(RECORDINGS)('%s: names no other release in itself', (path, { salt }) => {
  const own = releasesIn(path);
  if (own.length > 0) expect(own).toEqual([...salt].sort());
});

test('Brine says that it is the newest release that tests know', () => {
  expect(SALT_RELEASE).toBe(newestOf('3008'));
});

test('a line is filled in with the newest release of each line', () => {
  const of = (release: string): { release: string; python: string; site: string } => {
    return { release, python: `/p/${release}`, site: `/s/${release}` };
  };
  const installed = new Map([
    ['3006', of('3006.30')],
    ['3008', of('3008.5')],
  ]);
  const again = '{python 3008} r.py {release 3006}={site 3006} > {out}';
  expect([...linesAsked(again)]).toEqual(['3008', '3006']);
  expect(filledIn(again, installed, '/o')).toBe('/p/3008.5 r.py 3006.30=/s/3006.30 > /o');
  expect(() => filledIn('{python 3007}', installed, '/o')).toThrow('no release of Salt 3007');
});
