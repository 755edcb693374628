import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from 'markdown-table';
import { describe, expect, test } from 'vitest';
import { whoMayTable } from '../test/integration/hostile/who-may.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const TEXT = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');

/** Cells alone: how a table is padded is no matter. */
function bare(table: string): string {
  return table.replaceAll(/[ ]+/g, ' ').replaceAll(/-+/g, '-');
}

describe('SECURITY.md', () => {
  test('shows who may see or cause what as it is tested', () => {
    expect(bare(TEXT)).toContain(bare(markdownTable(whoMayTable())));
  });

  test('names files that are there', () => {
    const links = [...TEXT.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
