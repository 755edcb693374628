// Holds the ways of docs/internals against the code: a page that names files goes out of date with
// the first move, unnoticed.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('..', import.meta.url).pathname;
/** Each page, and the least processes on its way. */
const PAGES = [
  ['docs/internals/way-of-a-job.md', 6],
  ['docs/internals/way-of-an-event.md', 3],
] as const;

/** One process on the way: where it is wired, and the files that the job visits, in order. */
interface Leg {
  readonly title: string;
  readonly wiredIn: string;
  readonly files: readonly string[];
}

function readLegs(page: string): readonly Leg[] {
  const [, ...sections] = page.split(/^## (?=\d)/m);
  return sections.map((section) => {
    const [title = ''] = section.split('\n', 1);
    const wiredIn = /^Wired in `([^`]+)`/m.exec(section)?.[1] ?? '';
    const files = [...section.matchAll(/^\| `([^`]+\.(?:ts|mjs))` \|/gm)].map(
      ([, file = '']) => file,
    );
    return { title, wiredIn, files };
  });
}

/** The files that a file imports, those behind a library's door for the names that it takes. */
function importsOf(file: string): ReadonlySet<string> {
  const found = new Set<string>();
  const text = readFileSync(join(ROOT, file), 'utf8');
  const statements =
    /^(?:import|export) (?:type )?([^'";]*?) ?from '([^']+)';|\bimport\('([^']+)'\)/gm;
  for (const [, names = '', from, lazy] of text.matchAll(statements)) {
    for (const target of targetsOf(file, from ?? lazy ?? '', namesIn(names))) found.add(target);
  }
  // The program itself starts what was built.
  for (const [, built = ''] of text.matchAll(/new URL\('\.\.\/dist\/([^']+)\.js'/g)) {
    found.add(normalize(join(dirname(file), '../src', `${built}.ts`)));
  }
  return found;
}

/** `{ type A, b as c }` as A and b. */
function namesIn(list: string): readonly string[] {
  return list
    .replaceAll(/[{}]/g, '')
    .split(',')
    .map((name) =>
      name
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*$/, ''),
    )
    .filter((name) => name !== '');
}

function targetsOf(file: string, from: string, names: readonly string[]): readonly string[] {
  if (from.startsWith('.')) return [normalize(join(dirname(file), from))];
  const [, library, room] = /^@brine\/([^/]+)(?:\/(.+))?$/.exec(from) ?? [];
  if (library === undefined) return [];
  const home = ['libs', 'apps'].find((floor) => existsSync(join(ROOT, floor, library))) ?? '';
  const door = join(home, library, 'src', room ?? '', 'index.ts');
  const text = readFileSync(join(ROOT, door), 'utf8');
  const doors = text.matchAll(/^export (?:type )?(\{[^}]*\}) from '([^']+)';/gm);
  return [...doors]
    .filter(([, offered = '']) => namesIn(offered).some((name) => names.includes(name)))
    .flatMap(([, offered = '', at = '']) => targetsOf(door, at, namesIn(offered)));
}

describe.each(PAGES)('%s', (page, least) => {
  const legs = readLegs(readFileSync(join(ROOT, page), 'utf8'));

  test('every file on the way is there', () => {
    expect(legs.length).toBeGreaterThanOrEqual(least);
    const named = legs.flatMap(({ wiredIn, files }) => [wiredIn, ...files]);
    expect(named.filter((file) => file === '' || !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test('each file is imported by one before it, or handed to it where its process is wired', () => {
    const reached = new Set<string>();
    const strays = legs.flatMap(({ title, wiredIn, files }) => {
      for (const target of importsOf(wiredIn)) reached.add(target);
      return files.flatMap((file) => {
        const known = file === wiredIn || reached.has(file);
        for (const target of importsOf(file)) reached.add(target);
        return known ? [] : [`${title}: ${file}`];
      });
    });
    expect(strays).toEqual([]);
  });

  test('no file is left and entered again', () => {
    const files = legs.flatMap((leg) => leg.files);
    expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
  });
});
