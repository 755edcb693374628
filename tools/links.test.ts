// Every relative link of every Markdown file points at a file that exists, and at a heading in it.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = new URL('..', import.meta.url).pathname;
const SKIPPED = new Set(['node_modules', 'dist', '.nx', '.git', 'coverage']);

/** Markdown files below a directory. */
function documentsBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : documentsBelow(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
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
  const where = `${relative(ROOT, document)}: ${link}`;
  if (!existsSync(target)) return where;
  if (anchor === undefined || !target.endsWith('.md') || !statSync(target).isFile()) return '';
  return anchorsOf(readFileSync(target, 'utf8')).has(anchor) ? '' : `${where} (no such heading)`;
}

test('every link between documents leads somewhere', () => {
  const links = documentsBelow(ROOT).flatMap((document) =>
    localLinks(readFileSync(document, 'utf8')).map((link) => ({ document, link })),
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
