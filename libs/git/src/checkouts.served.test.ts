import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkoutOf } from './checkouts.ts';
import { GitError } from './run-git.ts';

let dir = '';
let repository = '';

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-checkouts-'));
  repository = join(dir, 'repository');
  mkdirSync(repository);
  git('init', '--quiet', '--initial-branch=master', '.');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function git(...args: string[]): string {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  return execFileSync('git', [...who, ...args], { cwd: repository, encoding: 'utf8' }).trim();
}

function commit(text: string): void {
  writeFileSync(join(repository, 'a.sls'), text);
  git('add', '--all');
  git('commit', '--quiet', '-m', 'change');
}

const headOf = (ref: string): string => git('rev-parse', ref);

describe('checkouts are bounded', () => {
  /** The repository's branches, each with a commit of its own of 1,000 bytes. */
  function manyBranches(count: number): {
    place: (at: number) => Promise<string>;
    trees: () => string[];
  } {
    const home = mkdtempSync(join(dir, 'many-'));
    const ids = Array.from({ length: count }, (_, at) => {
      commit(String(at).padEnd(1_000, '.'));
      git('branch', '--force', `many/${at}`);
      return headOf('HEAD');
    });
    const limits = { trees: 3, bytes: 3_500 };
    return {
      place: (at) => checkoutOf({ dir: join(repository, '.git') }, home, ids[at] ?? '', limits),
      trees: () =>
        readdirSync(join(home, 'trees'))
          .filter((name) => !name.endsWith('.used'))
          .map((name) => String(ids.indexOf(name)))
          .sort(),
    };
  }
  const age = (tree: string, seconds: number): void =>
    utimesSync(`${tree}.used`, new Date(), new Date(Date.now() - seconds * 1000));

  test('the one that was used longest ago makes room', async () => {
    const { place, trees } = manyBranches(5);
    const made = [await place(0), await place(1), await place(2)];
    made.forEach((tree, at) => age(tree, 1_000 - at));
    await place(0);
    await place(3);
    expect(trees()).toEqual(['0', '2', '3']);
    expect(readFileSync(join(await place(3), 'a.sls'))).toHaveLength(1_000);
  });

  test('one that may be read at this moment stays, and the new one is refused', async () => {
    const { place, trees } = manyBranches(4);
    await place(0);
    await place(1);
    await place(2);
    await expect(place(3)).rejects.toThrow('no room for one more checkout');
    expect(trees()).toEqual(['0', '1', '2']);
    age(await place(1), 1_000);
    await place(3);
    expect(trees()).toEqual(['0', '2', '3']);
  });

  test('their bytes count, not only their number', async () => {
    const { place, trees } = manyBranches(2);
    commit('x'.repeat(4_000));
    const home = mkdtempSync(join(dir, 'large-'));
    const large = (): Promise<string> =>
      checkoutOf({ dir: join(repository, '.git') }, home, headOf('HEAD'), {
        trees: 3,
        bytes: 3_500,
      });
    await expect(large()).rejects.toThrow(GitError);
    await place(0);
    expect(trees()).toEqual(['0']);
  });
});

test('a commit without files is an empty directory', async () => {
  const empty = git('commit-tree', '-m', 'empty', git('hash-object', '-t', 'tree', '/dev/null'));
  const checkout = await checkoutOf(
    { dir: join(repository, '.git') },
    mkdtempSync(join(dir, 'e-')),
    empty,
  );
  expect(readdirSync(checkout)).toEqual([]);
});
