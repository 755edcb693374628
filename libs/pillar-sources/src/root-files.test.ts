import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
