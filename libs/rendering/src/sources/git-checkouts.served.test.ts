import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Git, GitPillarError, type GitSettings, placeTree } from '@brine/git';
import { mapOf } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkoutOf, lastFetchMs } from './git-checkouts.ts';
import { gitPillarRemotes } from './git-remotes.ts';
import { updateGitPillars } from './git-update.ts';
import { RootFiles } from './root-files.ts';

let dir = '';
let repository = '';
let settings: GitSettings;
const lines: string[] = [];

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-git-'));
  repository = join(dir, 'repository');
  mkdirSync(repository);
  git('init', '--quiet', '--initial-branch=master', '.');
  writeFileSync(join(dir, 'secret'), 'secret: true\n');
  symlinkSync(join(dir, 'secret'), join(repository, 'out.sls'));
  symlinkSync('a.sls', join(repository, 'in.sls'));
  commit('a: 1\n');
  git('branch', 'dev');
  settings = {
    cacheDir: join(dir, 'cache'),
    updateIntervalMs: 0,
    sslVerify: true,
    user: '',
    password: '',
    privkey: '',
    log: (_level, text) => lines.push(text),
  };
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function git(...args: string[]): void {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  execFileSync('git', [...who, ...args], { cwd: repository, stdio: 'ignore' });
}

function commit(text: string): void {
  writeFileSync(join(repository, 'a.sls'), text);
  git('add', '--all');
  git('commit', '--quiet', '-m', 'change');
}

const textOf = (checkout: string, path = 'a.sls'): string | undefined =>
  new RootFiles({ base: [checkout] }, [checkout]).read('base', path);

test('a branch has its files, a change is seen, the commit before stays for its readers', () => {
  const before = checkoutOf({ url: repository, refs: ['master'], ownRefs: [] }, settings);
  expect(textOf(before)).toBe('a: 1\n');
  commit('a: 2\n');
  const after = checkoutOf({ url: repository, refs: ['master'], ownRefs: [] }, settings);
  expect(textOf(after)).toBe('a: 2\n');
  expect(textOf(before)).toBe('a: 1\n');
  expect(textOf(checkoutOf({ url: repository, refs: ['dev'], ownRefs: [] }, settings))).toBe(
    'a: 1\n',
  );
  expect(readdirSync(join(after, '..', '..')).sort()).toEqual(['fetched', 'git', 'trees']);
});

test('when it was last fetched is known', () => {
  expect(lastFetchMs(join(dir, 'none'))).toBeUndefined();
  const checkout = checkoutOf({ url: repository, refs: ['dev'], ownRefs: [] }, settings);
  const mark = join(checkout, '..', '..', 'fetched');
  expect(lastFetchMs(settings.cacheDir)).toBe(statSync(mark).mtimeMs);
});

test('within the interval nothing is fetched', () => {
  const slow = { ...settings, updateIntervalMs: 3_600_000 };
  const before = checkoutOf({ url: repository, refs: ['master'], ownRefs: [] }, slow);
  commit('a: 3\n');
  expect(checkoutOf({ url: repository, refs: ['master'], ownRefs: [] }, slow)).toBe(before);
});

test('links lead to files of the checkout only', () => {
  const checkout = checkoutOf({ url: repository, refs: ['dev'], ownRefs: [] }, settings);
  expect(textOf(checkout, 'in.sls')).toBe('a: 1\n');
  expect(textOf(checkout, 'out.sls')).toBeUndefined();
});

test('a fallback stands in for a branch that is not there; without one it is an error', () => {
  expect(
    textOf(checkoutOf({ url: repository, refs: ['none', 'dev'], ownRefs: [] }, settings)),
  ).toBe('a: 1\n');
  expect(() => checkoutOf({ url: repository, refs: ['none'], ownRefs: [] }, settings)).toThrow(
    GitPillarError,
  );
});

test('a repository that is away is logged, and what was fetched goes on', () => {
  const other = join(dir, 'other');
  execFileSync('git', ['clone', '--quiet', repository, other], { stdio: 'ignore' });
  const before = checkoutOf({ url: other, refs: ['master'], ownRefs: [] }, settings);
  rmSync(other, { recursive: true });
  expect(checkoutOf({ url: other, refs: ['master'], ownRefs: [] }, settings)).toBe(before);
  expect(lines.at(-1)).toContain('was not fetched');
});

test.each(['-c', 'ext::sh -c true'])('%s is no repository', (url) => {
  expect(() => checkoutOf({ url: url, refs: ['master'], ownRefs: [] }, settings)).toThrow(
    GitPillarError,
  );
});

test('remotes have the environments that Salt gives them', () => {
  const defaults = { base: 'master', branch: 'master', env: '', fallback: '', root: '' };
  const envs = (args: Parameters<typeof gitPillarRemotes>[0], asked: string | null) =>
    gitPillarRemotes(args, defaults, asked).map(({ refs, env }) => [refs[0], env]);
  expect(envs(['master u', 'dev u', 'u'], null)).toEqual([
    ['master', 'base'],
    ['dev', 'dev'],
    ['master', 'base'],
  ]);
  expect(envs([mapOf({ 'dev u': [mapOf({ env: 'base' })] })], null)).toEqual([['dev', 'base']]);
  expect(envs(['__env__ u'], 'qa')).toEqual([['qa', 'qa']]);
  expect(envs(['__env__ u'], null)).toEqual([['master', 'base']]);
  const everywhere = mapOf({ '__env__ u': [mapOf({ all_saltenvs: 'main' })] });
  expect(envs([everywhere], 'qa')).toEqual([['main', 'qa']]);
});

const headOf = (ref: string): string =>
  execFileSync('git', ['rev-parse', ref], { cwd: repository, encoding: 'utf8' }).trim();

describe('a minion gets branches and tags by their exact names, and no revision', () => {
  beforeAll(() => {
    commit('secret: before\n');
    commit('secret: removed\n');
    git('tag', '-a', '-m', 'tagged', 'v1');
    git('branch', 'feature/x');
    git('branch', 'pushed');
    checkoutOf({ url: repository, refs: ['pushed'], ownRefs: [] }, settings);
  });

  test.each(['master', 'v1', 'feature/x'])('%s is there', (ref) => {
    const place = { url: repository, refs: [ref], ownRefs: [] };
    expect(textOf(checkoutOf(place, settings))).toBe('secret: removed\n');
  });

  test.each([
    ...['master~1', 'master^', 'master^0', 'master^{commit}', 'master^{/before}', 'master@{0}'],
    ...['@{-1}', '@', ':/before', 'HEAD', 'FETCH_HEAD', 'v1^{}', 'v1~1', 'master:a.sls', 'feature'],
    ...['heads/master', 'refs/heads/master', 'tags/v1', '../heads/master', 'x/../master', '-c'],
    ...['--all', 'mas*', 'm?ster', '[m]aster', 'master ', ' master', 'master\n', 'master\0', ''],
    ...['.', '..', '/', 'master/', '/master', 'master.', 'master.lock', '*', 'MASTER', 'x\\y'],
    ...['\u001b[2J', 'a'.repeat(300), 'feature/', 'feature//x', 'feature/./x', 'ｍaster'],
  ])('%j is not', (ref) => {
    const place = { url: repository, refs: [ref], ownRefs: [] };
    expect(() => checkoutOf(place, settings)).toThrow(GitPillarError);
  });

  test('the id of a commit is one only where the master itself names it', () => {
    const id = headOf('master~1');
    for (const ref of [id, id.slice(0, 10), id.toUpperCase()]) {
      const place = { url: repository, refs: [ref], ownRefs: [] };
      expect(() => checkoutOf(place, settings)).toThrow(GitPillarError);
    }
    const own = { url: repository, refs: [id], ownRefs: [id] };
    expect(textOf(checkoutOf(own, settings))).toBe('secret: before\n');
  });

  test('a name from a minion is no ref of the master, whatever it looks like', () => {
    const id = headOf('master~1');
    const defaults = { base: 'master', branch: 'master', env: '', fallback: '', root: '' };
    const [asked] = gitPillarRemotes('__env__ u', defaults, id);
    expect(asked).toMatchObject({ refs: [id], ownRefs: ['master'] });
    const [pinned] = gitPillarRemotes(`${id} u`, { ...defaults, fallback: 'dev' }, 'qa');
    expect(pinned).toMatchObject({ refs: [id, 'dev'], ownRefs: [id, 'dev'] });
  });
});

describe('checkouts are bounded', () => {
  /** The repository's branches, each with a commit of its own of 1,000 bytes. */
  function manyBranches(count: number): { place: (at: number) => string; trees: () => string[] } {
    const home = mkdtempSync(join(dir, 'many-'));
    const bare = new Git(join(repository, '.git'), settings);
    const ids = Array.from({ length: count }, (_, at) => {
      commit(String(at).padEnd(1_000, '.'));
      git('branch', '--force', `many/${at}`);
      return headOf('HEAD');
    });
    const limits = { trees: 3, bytes: 3_500 };
    return {
      place: (at) => placeTree(bare, home, ids[at] ?? '', limits),
      trees: () =>
        readdirSync(join(home, 'trees'))
          .filter((name) => !name.endsWith('.used'))
          .map((name) => String(ids.indexOf(name)))
          .sort(),
    };
  }
  const age = (tree: string, seconds: number): void =>
    utimesSync(`${tree}.used`, new Date(), new Date(Date.now() - seconds * 1000));

  test('the one that was used longest ago makes room', () => {
    const { place, trees } = manyBranches(5);
    const made = [place(0), place(1), place(2)];
    made.forEach((tree, at) => age(tree, 1_000 - at));
    place(0);
    place(3);
    expect(trees()).toEqual(['0', '2', '3']);
    expect(textOf(place(3))?.length).toBe(1_000);
  });

  test('one that may be read at this moment stays, and the new one is refused', () => {
    const { place, trees } = manyBranches(4);
    place(0);
    place(1);
    place(2);
    expect(() => place(3)).toThrow('no room for one more checkout');
    expect(trees()).toEqual(['0', '1', '2']);
    age(place(1), 1_000);
    place(3);
    expect(trees()).toEqual(['0', '2', '3']);
  });

  test('their bytes count, not only their number', () => {
    const { place, trees } = manyBranches(2);
    const bare = new Git(join(repository, '.git'), settings);
    commit('x'.repeat(4_000));
    const home = mkdtempSync(join(dir, 'large-'));
    const large = (): string => placeTree(bare, home, headOf('HEAD'), { trees: 3, bytes: 3_500 });
    expect(large).toThrow(GitPillarError);
    place(0);
    expect(trees()).toEqual(['0']);
  });
});

test('an update says of each remote whether something came, and takes those that are meant', () => {
  const away = join(dir, 'no-repository');
  const named = `dev ${repository}`;
  const extPillar = [mapOf({ other: [] }), mapOf({ git: [repository, mapOf({ [named]: [] })] })];
  const rested = { ...settings, cacheDir: join(dir, 'updated'), updateIntervalMs: 3_600_000 };
  const update = (
    branch: string | null,
    repo: string | null,
    from: readonly unknown[] = extPillar,
  ) => updateGitPillars(from as never, 'master', { branch, repo }, rested);
  expect(update(null, null)).toEqual(mapOf({ [repository]: true, [named]: null }));
  expect(update('dev', null)).toEqual(mapOf({ [named]: null }));
  commit('a: updated\n');
  const place = { url: repository, refs: ['master'], ownRefs: [] };
  expect(textOf(checkoutOf(place, rested))).not.toBe('a: updated\n');
  expect(update('master', repository)).toEqual(mapOf({ [repository]: true }));
  expect(textOf(checkoutOf(place, rested))).toBe('a: updated\n');
  expect(update('none', null)).toEqual(mapOf({}));
  expect(update(null, null, [mapOf({ git: [away] })])).toEqual(mapOf({ [away]: false }));
  expect(lines.at(-1)).toContain('was not fetched');
});
