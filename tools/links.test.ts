// Every relative link of every Markdown file points at a file that exists, and at a heading in it.
// Every source that one names exists too.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = new URL('..', import.meta.url).pathname;
const SKIPPED = new Set(['node_modules', 'dist', '.nx', '.git', 'coverage']);

/** Files of the repository, by their path from its root. */
const FILES = filesBelow('');
const DOCUMENTS = FILES.filter((file) => file.endsWith('.md'));

function filesBelow(dir: string): string[] {
  return readdirSync(join(ROOT, dir), { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : filesBelow(path);
    return [path];
  });
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The text without code, in which brackets mean something else. */
function prose(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
}

/** Targets of links, images and reference definitions that lead to a place in the repository. */
function localLinks(text: string): string[] {
  const inline = [...prose(text).matchAll(/\]\(<?([^()\s>]+)>?(?: "[^"]*")?\)/g)];
  const defined = [...prose(text).matchAll(/^\[[^\]]+\]:\s*(\S+)/gm)];
  return [...inline, ...defined]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** The names that GitHub gives to the headings of a document. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ +(.+)$/gm);
  const names = [...headings].map(([, heading = '']) => {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const name = plain.replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  });
  const written = [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, name = '']) => name);
  return new Set([...names, ...written]);
}

/** What is wrong with a link, or nothing. */
function faultOf(document: string, link: string): string {
  const [path = '', anchor] = link.split('#', 2);
  const target = path === '' ? document : join(dirname(document), decodeURI(path));
  const where = `${document}: ${link}`;
  if (!existsSync(join(ROOT, target))) return where;
  if (anchor === undefined || !DOCUMENTS.includes(target)) return '';
  return anchorsOf(read(target)).has(anchor) ? '' : `${where} (no such heading)`;
}

/** Sources that a text names; `x.test.ts` is an example, `*.test.ts` a pattern. */
function sourcesNamedIn(text: string): string[] {
  const path = /(?<![\w*<>{}…/.:@-])(?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs|cjs)(?![\w*/])/g;
  return [...text.matchAll(path)]
    .map(([named]) => named)
    .filter((named) => !basename(named).startsWith('x.'));
}

/** The package of a document, or the root. */
function packageOf(document: string): string {
  return /^(?:apps|libs|tools|test)\/[^/]+/.exec(document)?.[0] ?? '.';
}

/** True where a name means a file: a path from here, or a file of the package. */
function isNamed(named: string, document: string, sources: readonly string[]): boolean {
  const home = packageOf(document);
  const places = [dirname(document), home, join(home, 'src'), '.'].map((from) => join(from, named));
  if (places.some((path) => sources.includes(path))) return true;
  // Pages of the root write of any package: `src/main.ts`.
  if (home !== '.' && named.includes('/')) return false;
  return sources.some((path) => `/${path}`.endsWith(`/${named}`) && isBelow(path, home));
}

function isBelow(path: string, dir: string): boolean {
  return dir === '.' || path.startsWith(`${dir}/`);
}

test('every source that a document names exists', () => {
  const sources = FILES.filter((file) => /\.(ts|mjs|cjs)$/.test(file));
  // What a release changed may be gone by now.
  const documents = DOCUMENTS.filter((document) => document !== 'CHANGELOG.md');
  const named = documents.flatMap((document) =>
    sourcesNamedIn(read(document)).map((path) => ({ document, path })),
  );
  expect(named.length).toBeGreaterThan(500);
  const missing = named.filter(({ document, path }) => !isNamed(path, document, sources));
  expect(missing.map(({ document, path }) => `${document}: ${path}`)).toEqual([]);
});

test('a source is named by its path, or by its name within the package', () => {
  const sources = ['libs/a/src/in/b.ts', 'libs/c/src/d.ts'];
  const of = (named: string): boolean => isNamed(named, 'libs/a/src/README.md', sources);
  expect(sourcesNamedIn('`src/in/b.ts`, x.test.ts, *.test.ts, @a/b.ts')).toEqual(['src/in/b.ts']);
  expect(['in/b.ts', 'src/in/b.ts', 'b.ts', 'libs/c/src/d.ts'].map(of)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['src/b.ts', 'd.ts', 'src/d.ts'].map(of)).toEqual([false, false, false]);
  expect(isNamed('src/d.ts', 'CONTRIBUTING.md', sources)).toBe(true);
});

test('every link between documents leads somewhere', () => {
  const links = DOCUMENTS.flatMap((document) =>
    localLinks(read(document)).map((link) => ({ document, link })),
  );
  expect(links.length).toBeGreaterThan(50);
  expect(links.map(({ document, link }) => faultOf(document, link)).filter(Boolean)).toEqual([]);
});

test('a heading has the name that GitHub gives it', () => {
  const text = '# Where `it` is\n## A [link](x.md), twice\n## A link, twice\n```\n# no\n```\n';
  expect([...anchorsOf(text)]).toEqual(['where-it-is', 'a-link-twice', 'a-link-twice-1']);
  expect(localLinks('[a](b.md#c) [d](https://e) `[f](g)`\n[h]: i.md\n')).toEqual([
    'b.md#c',
    'i.md',
  ]);
});
