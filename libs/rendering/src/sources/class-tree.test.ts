import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClassTree } from './class-tree.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'brine-classes-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

test('files of a directory come before those below it, links are followed, but not in a ring', () => {
  for (const path of ['classes/b.yml', 'classes/a/x.yml', 'nodes/deep/web1.yml', 'other.yml']) {
    write(path, path);
  }
  symlinkSync(join(root, 'classes'), join(root, 'classes/a/again'));
  symlinkSync(join(root, 'nodes'), join(root, 'classes/linked'));
  symlinkSync(join(root, 'nowhere'), join(root, 'classes/broken'));
  const tree = new ClassTree(root);
  expect(tree.classes).toEqual(['b.yml', 'a/x.yml', 'linked/deep/web1.yml']);
  expect(tree.nodes).toEqual(['deep/web1.yml']);
  expect(tree.read('classes/a/x.yml')).toBe('classes/a/x.yml');
});

test('nothing is read outside of the tree, and nothing that is too large', () => {
  write('classes/large.yml', 'x'.repeat(1024 * 1024 + 1));
  const tree = new ClassTree(root);
  expect(tree.read('classes/../../etc/hostname')).toBeUndefined();
  expect(tree.read('classes//etc/hostname')).toBeUndefined();
  expect(tree.read('classes/large.yml')).toBeUndefined();
  expect(tree.read('classes')).toBeUndefined();
});

test('a tree that is not there has no files', () => {
  expect(new ClassTree(join(root, 'none')).classes).toEqual([]);
});

test('directories may not stand in each other without end', () => {
  write(`classes/${'d/'.repeat(40)}x.yml`, '');
  expect(() => new ClassTree(root)).toThrow('nested too deeply');
});
