import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RootFiles } from './root-files.ts';

let dir = '';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-roots-'));
  mkdirSync(join(dir, 'envs', 'feature', 'x'), { recursive: true });
  for (const place of ['.', 'envs', 'envs/feature', 'envs/feature/x']) {
    writeFileSync(join(dir, place, 'top.sls'), place);
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const topOf = (asked: string): string | undefined =>
  RootFiles.of({ __env__: [join(dir, 'envs', '__env__')] }, asked).read(asked, 'top.sls');

test('the name of an environment may be part of a path', () => {
  expect(topOf('feature')).toBe('envs/feature');
  expect(topOf('feature/x')).toBe('envs/feature/x');
});

test.each([
  '',
  '.',
  '..',
  '/',
  'feature/..',
  'feature/.',
  'feature//x',
  './feature',
  '../',
  'a\0b',
])('an environment %j that a minion names leads nowhere else', (asked) =>
  expect(topOf(asked)).toBeUndefined(),
);

/** Files of the environments `a` and `b`, which stand below `envs`; beside them is `beside`. */
function absoluteOf(path: string, { env = 'a', confined = false } = {}): string | undefined {
  const at = (name: string): string => join(dir, 'abs', name);
  for (const name of ['envs/a', 'envs/b', 'beside', 'envs-other']) {
    mkdirSync(at(name), { recursive: true });
    writeFileSync(join(at(name), 'f'), name);
  }
  rmSync(at('envs/a/link'), { force: true });
  symlinkSync(at('envs-other/f'), at('envs/a/link'));
  const roots = { a: [at('envs/a')], b: [`${at('envs/b')}/`], none: [] };
  const confines = confined ? [at('envs/a'), at('envs/b')] : undefined;
  const files = new RootFiles(roots, confines, [at('beside')]);
  return files.read(env, path.replace('{}', join(dir, 'abs')));
}

test.each([
  ['{}/envs/a/f', 'envs/a'],
  ['{}/envs/b/f', 'envs/b'],
  ['{}/beside/f', 'beside'],
  ['/{}//envs/a/../b/./f', 'envs/b'],
  ['{}/envs/a/link', 'envs-other'],
])('the absolute path %s is that of a file below a root', (path, text) =>
  expect(absoluteOf(path)).toBe(text),
);

test.each([
  '{}/envs-other/f',
  '{}/envs/a/../../envs-other/f',
  '{}/envs/a/',
  '{}/envs/a',
  '/f',
  '/etc/hostname',
])('the absolute path %s leads nowhere', (path) => expect(absoluteOf(path)).toBeUndefined());

test('an environment without directories has no files, and links stay within confines', () => {
  expect(absoluteOf('{}/envs/a/f', { env: 'none' })).toBeUndefined();
  expect(absoluteOf('{}/envs/a/f', { confined: true })).toBe('envs/a');
  expect(absoluteOf('{}/envs/a/link', { confined: true })).toBeUndefined();
});
