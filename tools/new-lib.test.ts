import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeLib, readArguments } from './new-lib.ts';

test('a new library has its skeleton and is part of the build', () => {
  const root = mkdtempSync(join(tmpdir(), 'brine-new-lib-'));
  try {
    mkdirSync(join(root, 'libs'));
    writeFileSync(join(root, 'tsconfig.json'), '{ "files": [], "references": [] }');
    const lib = readArguments(['pillar', 'rule', 'Pillar of a minion.']);
    const made = makeLib(root, lib);
    expect(made).toContain('libs/pillar/src/index.ts');
    expect(made.every((path) => existsSync(join(root, path)))).toBe(true);
    expect(readFileSync(join(root, 'tsconfig.json'), 'utf8')).toContain('"path": "libs/pillar"');
    expect(() => makeLib(root, lib)).toThrow('libs/pillar exists');
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test('a name that is too general is refused', () => {
  expect(() => readArguments(['utils', 'edge', 'x'])).toThrow("'utils' is too general");
  expect(() => readArguments(['Pillar', 'edge', 'x'])).toThrow('usage:');
  expect(() => readArguments(['pillar', 'cellar', 'x'])).toThrow('usage:');
});
