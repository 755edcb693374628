import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeIfThere, textIfThere, writeAtomic, writeNew } from './files.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-files-'));
});

afterEach(() => rm(dir, { recursive: true }));

test('a file is replaced whole, with its mode', async () => {
  const path = join(dir, 'key');
  await writeFile(path, 'old', { mode: 0o644 });
  await writeAtomic(path, 'new', { mode: 0o400 });
  expect(await readFile(path, 'utf8')).toBe('new');
  expect((await stat(path)).mode & 0o777).toBe(0o400);
  expect(await readdir(dir)).toEqual(['key']);
});

test('of many that write a new file one wins, and readers see its whole text', async () => {
  const path = join(dir, 'key');
  const texts = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(100_000));
  const won = await Promise.all(texts.map((text) => writeNew(path, text, { mode: 0o600 })));
  expect(won.filter(Boolean)).toHaveLength(1);
  expect(await textIfThere(path)).toBe(texts[won.indexOf(true)]);
  expect(await readdir(dir)).toEqual(['key']);
});

test('a write that fails leaves no draft', async () => {
  await writeNew(join(dir, 'key'), 'x', { mode: 0o600 });
  await expect(writeAtomic(join(dir, 'key', 'below'), 'x', { mode: 0o600 })).rejects.toThrow(
    'ENOTDIR',
  );
  await expect(writeAtomic(dir, 'x', { mode: 0o600 })).rejects.toThrow();
  expect(await readdir(dir)).toEqual(['key']);
});

test('a file that is not there is no error', async () => {
  expect(await textIfThere(join(dir, 'none'))).toBeUndefined();
  expect(await removeIfThere(join(dir, 'none', 'below'))).toBe(false);
});
