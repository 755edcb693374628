import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GitError } from '@brine/git';
import { mapOf, type SaltValue } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GitCheckouts, type GitPlace, type GitSettings, lastFetchMs } from './git-checkouts.ts';
import { gitPillarRemotes } from './git-remotes.ts';
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

const worker = (how = settings): GitCheckouts => new GitCheckouts(how, (text) => lines.push(text));

/** As another worker does it, which has nothing in memory. */
const checkoutOf = (place: GitPlace, how = settings): Promise<string> => worker(how).of(place);

const textOf = (checkout: string, path = 'a.sls'): string | undefined =>
  new RootFiles({ base: [checkout] }, [checkout]).read('base', path);

test('a branch has its files, a change is seen, the commit before stays for its readers', async () => {
  const before = await checkoutOf({ url: repository, refs: ['master'], ownRefs: [] });
  expect(textOf(before)).toBe('a: 1\n');
  commit('a: 2\n');
  const after = await checkoutOf({ url: repository, refs: ['master'], ownRefs: [] });
  expect(textOf(after)).toBe('a: 2\n');
  expect(textOf(before)).toBe('a: 1\n');
  expect(textOf(await checkoutOf({ url: repository, refs: ['dev'], ownRefs: [] }))).toBe('a: 1\n');
  expect(readdirSync(join(after, '..', '..')).sort()).toEqual(['fetched', 'git', 'trees']);
});

test('when it was last fetched is known', async () => {
  expect(lastFetchMs(join(dir, 'none'))).toBeUndefined();
  const checkout = await checkoutOf({ url: repository, refs: ['dev'], ownRefs: [] });
  const mark = join(checkout, '..', '..', 'fetched');
  expect(lastFetchMs(settings.cacheDir)).toBe(statSync(mark).mtimeMs);
});

test('within the interval nothing is fetched', async () => {
  const slow = { ...settings, updateIntervalMs: 3_600_000 };
  const before = await checkoutOf({ url: repository, refs: ['master'], ownRefs: [] }, slow);
  commit('a: 3\n');
  expect(await checkoutOf({ url: repository, refs: ['master'], ownRefs: [] }, slow)).toBe(before);
});

test('links lead to files of the checkout only', async () => {
  const checkout = await checkoutOf({ url: repository, refs: ['dev'], ownRefs: [] });
  expect(textOf(checkout, 'in.sls')).toBe('a: 1\n');
  expect(textOf(checkout, 'out.sls')).toBeUndefined();
});

test('a fallback stands in for a branch that is not there; without one it is an error', async () => {
  expect(textOf(await checkoutOf({ url: repository, refs: ['none', 'dev'], ownRefs: [] }))).toBe(
    'a: 1\n',
  );
  await expect(checkoutOf({ url: repository, refs: ['none'], ownRefs: [] })).rejects.toThrow(
    GitError,
  );
});

test('an unreachable repository is logged, and the last fetch is used', async () => {
  const other = join(dir, 'other');
  execFileSync('git', ['clone', '--quiet', repository, other], { stdio: 'ignore' });
  const before = await checkoutOf({ url: other, refs: ['master'], ownRefs: [] });
  rmSync(other, { recursive: true });
  expect(await checkoutOf({ url: other, refs: ['master'], ownRefs: [] })).toBe(before);
  expect(lines.at(-1)).toContain('was not fetched');
});

test.each(['-c', '--upload-pack=x'])('%s is no repository', async (url) => {
  await expect(checkoutOf({ url: url, refs: ['master'], ownRefs: [] })).rejects.toThrow(GitError);
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
  beforeAll(async () => {
    commit('secret: before\n');
    commit('secret: removed\n');
    git('tag', '-a', '-m', 'tagged', 'v1');
    git('branch', 'feature/x');
    git('branch', 'pushed');
    await checkoutOf({ url: repository, refs: ['pushed'], ownRefs: [] });
  });

  test.each(['master', 'v1', 'feature/x'])('%s is there', async (ref) => {
    const place = { url: repository, refs: [ref], ownRefs: [] };
    expect(textOf(await checkoutOf(place))).toBe('secret: removed\n');
  });

  test.each([
    ...['master~1', 'master^', 'master^0', 'master^{commit}', 'master^{/before}', 'master@{0}'],
    ...['@{-1}', '@', ':/before', 'HEAD', 'FETCH_HEAD', 'v1^{}', 'v1~1', 'master:a.sls', 'feature'],
    ...['heads/master', 'refs/heads/master', 'tags/v1', '../heads/master', 'x/../master', '-c'],
    ...['--all', 'mas*', 'm?ster', '[m]aster', 'master ', ' master', 'master\n', 'master\0', ''],
    ...['.', '..', '/', 'master/', '/master', 'master.', 'master.lock', '*', 'MASTER', 'x\\y'],
    ...['\u001b[2J', 'a'.repeat(300), 'feature/', 'feature//x', 'feature/./x', 'ｍaster'],
  ])('%j is not', async (ref) => {
    const place = { url: repository, refs: [ref], ownRefs: [] };
    await expect(checkoutOf(place)).rejects.toThrow(GitError);
  });

  test('the id of a commit is one only where the master itself names it', async () => {
    const id = headOf('master~1');
    for (const ref of [id, id.slice(0, 10), id.toUpperCase()]) {
      const place = { url: repository, refs: [ref], ownRefs: [] };
      await expect(checkoutOf(place)).rejects.toThrow(GitError);
    }
    const own = { url: repository, refs: [id], ownRefs: [id] };
    expect(textOf(await checkoutOf(own))).toBe('secret: before\n');
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

test('an update returns for each selected remote whether something came', async () => {
  const away = join(dir, 'no-repository');
  const named = `dev ${repository}`;
  const extPillar = [mapOf({ other: [] }), mapOf({ git: [repository, mapOf({ [named]: [] })] })];
  const rested = { ...settings, cacheDir: join(dir, 'updated'), updateIntervalMs: 3_600_000 };
  const update = (branch: string | null, repo: string | null, from: SaltValue = extPillar) =>
    worker(rested).update(from, 'master', { branch, repo }, AbortSignal.timeout(60_000));
  expect(await update(null, null)).toEqual(mapOf({ [repository]: true, [named]: null }));
  expect(await update('dev', null)).toEqual(mapOf({ [named]: null }));
  commit('a: updated\n');
  const place = { url: repository, refs: ['master'], ownRefs: [] };
  expect(textOf(await checkoutOf(place, rested))).not.toBe('a: updated\n');
  expect(await update('master', repository)).toEqual(mapOf({ [repository]: true }));
  expect(textOf(await checkoutOf(place, rested))).toBe('a: updated\n');
  expect(await update('none', null)).toEqual(mapOf({}));
  expect(await update(null, null, [mapOf({ git: [away] })])).toEqual(mapOf({ [away]: false }));
  expect(lines.at(-1)).toContain('was not fetched');
});
