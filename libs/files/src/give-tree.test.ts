import {
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { giveFile, giveTree } from './give-tree.ts';

const isRoot = process.getuid?.() === 0;

test('all in a directory changes hands, but what a link leads to does not', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  const dir = mkdtempSync(join(tmpdir(), 'give-'));
  const [given, kept] = [join(dir, 'given'), join(dir, 'given', 'kept')];
  mkdirSync(join(given, 'below'), { recursive: true });
  mkdirSync(kept);
  writeFileSync(join(given, 'below', 'file'), '');
  writeFileSync(join(kept, 'file'), '');
  writeFileSync(join(dir, 'outside'), '');
  symlinkSync(join(dir, 'outside'), join(given, 'link'));
  symlinkSync(dir, join(given, 'above'));
  linkSync(join(dir, 'outside'), join(given, 'second-name'));
  await giveTree(given, { uid: 12, gid: 34 }, new Set([kept]));
  const uidOf = (path: string): number => lstatSync(join(dir, path)).uid;
  expect(['given', 'given/below/file', 'given/link'].map(uidOf)).toEqual([12, 12, 12]);
  expect(['given/kept', 'given/kept/file', 'outside'].map(uidOf)).toEqual([0, 0, 0]);
  expect(uidOf('given/second-name')).toBe(0);
  rmSync(dir, { recursive: true });
});

test('files of a group that may keep its own stay as they are', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  const dir = mkdtempSync(join(tmpdir(), 'give-'));
  writeFileSync(join(dir, 'shared'), '');
  chownSync(join(dir, 'shared'), 0, 77);
  await giveTree(dir, { uid: 12, gid: 34, keepGroups: new Set([77]) });
  expect([lstatSync(dir).uid, lstatSync(join(dir, 'shared')).uid]).toEqual([12, 0]);
  rmSync(dir, { recursive: true });
});

test('a file that others could have put there changes hands only if it is theirs alone', (context) => {
  if (!isRoot) return context.skip('this is not root');
  const dir = mkdtempSync(join(tmpdir(), 'give-'));
  const [outside, link, second, made] = ['outside', 'link', 'second', 'made'].map((name) =>
    join(dir, name),
  ) as [string, string, string, string];
  const other = { uid: 12, gid: 34 };
  writeFileSync(outside, 'text');
  symlinkSync(outside, link);
  expect([giveFile(link, other), giveFile(link, other, 0o600)]).toEqual([false, false]);
  linkSync(outside, second);
  expect([giveFile(second, other), giveFile(dir, other)]).toEqual([false, false]);
  expect(lstatSync(outside).uid).toBe(0);
  expect(giveFile(made, other, 0o600)).toBe(true);
  rmSync(second);
  expect(giveFile(outside, { uid: 12, gid: -1 }, 0o600)).toBe(true);
  const owners = [made, outside].map((path) => [lstatSync(path).uid, lstatSync(path).gid]);
  expect(owners).toEqual([
    [12, 34],
    [12, 0],
  ]);
  expect(readFileSync(outside, 'utf8')).toBe('text');
  expect(() => giveFile(join(dir, 'none'), other)).toThrow('ENOENT');
  rmSync(dir, { recursive: true });
});

test('what is not there is no error', async () => {
  await giveTree(join(tmpdir(), 'there-is-no-such-directory'), { uid: 1, gid: 1 });
});
