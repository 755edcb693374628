import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from 'markdown-table';
import { describe, expect, test } from 'vitest';
import { whoMayTable } from '../test/integration/security/hostile/who-may.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const SECURE = readFileSync(join(ROOT, 'docs/secure.md'), 'utf8');
const TESTS = readFileSync(join(ROOT, 'docs/security-tests.md'), 'utf8');

/** Cells alone: how a table is padded is no matter. */
function bare(table: string): string {
  return table.replaceAll(/[ ]+/g, ' ').replaceAll(/-+/g, '-');
}

describe('the documents on security', () => {
  test('show who may see or cause what as it is tested', () => {
    expect(bare(SECURE)).toContain(bare(markdownTable(whoMayTable())));
  });

  test('name files that are there', () => {
    const links = [...TESTS.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((path) => !existsSync(join(ROOT, 'docs', path)))).toEqual([]);
  });
});
