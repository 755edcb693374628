import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeIfThere, removeOldDrafts, textIfThere, writeAtomic, writeNew } from './files.ts';

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

test('drafts of killed writers are removed, those of running ones and other files are not', async () => {
  const hourAgo = new Date(Date.now() - 3_600_000);
  const old = ['.17-0123456789ab.new', '.bashrc', 'a.new', '.17-0123456789ab.new.pub'];
  for (const name of old) {
    await writeFile(join(dir, name), '');
    await utimes(join(dir, name), hourAgo, hourAgo);
  }
  await writeFile(join(dir, '.18-0123456789ab.new'), '');
  await removeOldDrafts(dir);
  expect((await readdir(dir)).sort()).toEqual([
    '.17-0123456789ab.new.pub',
    '.18-0123456789ab.new',
    '.bashrc',
    'a.new',
  ]);
  await removeOldDrafts(join(dir, 'none'));
});

test('the name of a draft is one that is removed', async () => {
  const watcher = watch(dir);
  const made = once(watcher, 'change') as Promise<[string, string]>;
  await writeAtomic(join(dir, 'key'), 'new', { mode: 0o600 });
  const [, name] = await made;
  watcher.close();
  expect(name).not.toBe('key');
  const draft = join(dir, name);
  const hourAgo = new Date(Date.now() - 3_600_000);
  await writeFile(draft, '');
  await utimes(draft, hourAgo, hourAgo);
  await removeOldDrafts(dir);
  expect(await readdir(dir)).toEqual(['key']);
});
