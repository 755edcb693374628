import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { growsOld } from '@brine/testing/waits';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readRemotes, type RemoteConfig } from './git/remote-config.ts';
import { GitfsBackend } from './gitfs.ts';

let dir = '';
let told: [string, string | undefined][] = [];
const opened: GitfsBackend[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-gitfs-'));
  told = [];
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((backend) => backend.close()));
  await rm(dir, { recursive: true, force: true });
});

const GLOBALS = {
  base: 'master',
  ref_types: ['branch', 'tag', 'sha'],
  refspecs: ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*'],
  update_interval: 0,
};

function git(repo: string, ...args: string[]): string {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'commit.gpgsign=false'];
  return execFileSync('git', [...who, ...args], { cwd: join(dir, repo), encoding: 'utf8' }).trim();
}

async function commit(repo: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(dir, repo, path, '..'), { recursive: true });
    await writeFile(join(dir, repo, path), content);
  }
  git(repo, 'add', '-A');
  git(repo, 'commit', '-qm', 'x');
  return git(repo, 'rev-parse', 'HEAD');
}

/** A repository with the branches master and dev, and the tag v1. */
async function repository(name: string): Promise<string> {
  await mkdir(join(dir, name), { recursive: true });
  git(name, 'init', '-q', '-b', 'master');
  await symlink('top.sls', join(dir, name, 'link'));
  await symlink('../../outside', join(dir, name, 'out'));
  const first = await commit(name, { 'top.sls': 'one', 'sub/deep/ü': 'deep', 'sub/run.sh': 'run' });
  git(name, 'tag', '-a', 'v1', '-m', 'v1');
  await commit(name, { 'top.sls': 'two' });
  git(name, 'checkout', '-qb', 'dev');
  await commit(name, { 'top.sls': 'dev', only: 'dev' });
  git(name, 'checkout', '-q', 'master');
  return first;
}

function serve(
  remotes: readonly unknown[],
  globals: object = {},
  intervalMs = 0,
  onFetched: () => void = () => undefined,
): GitfsBackend {
  const read = readRemotes(remotes, { ...GLOBALS, ...globals }).map((remote): RemoteConfig => ({
    ...remote,
    updateInterval: intervalMs / 1000,
  }));
  const backend = new GitfsBackend({
    remotes: read,
    cacheDir: join(dir, 'cache'),
    report: (remote, problem) => told.push([remote, problem]),
    onFetched,
  });
  opened.push(backend);
  return backend;
}

async function contentOf(backend: GitfsBackend, path: string, env: string) {
  const found = await backend.find(path, env);
  return found && (await readFile(found.path, 'utf8'));
}

test('branches, tags and commits are environments, the base is that of gitfs_base', async () => {
  const first = await repository('repo');
  const backend = serve([join(dir, 'repo')]);
  expect(await backend.envs()).toEqual(['base', 'dev', 'v1']);
  expect(await contentOf(backend, 'top.sls', 'base')).toBe('two');
  expect(await contentOf(backend, './sub//deep/ü', 'base')).toBe('deep');
  expect(await contentOf(backend, 'top.sls', 'dev')).toBe('dev');
  expect(await contentOf(backend, 'top.sls', 'v1')).toBe('one');
  expect(await contentOf(backend, 'top.sls', first)).toBe('one');
  expect(await contentOf(backend, 'link', 'base')).toBe('two');
  expect((await backend.find('sub/run.sh', 'base'))?.stat).toEqual([0o100644]);
  for (const [path, env] of [
    ['only', 'base'],
    ['sub', 'base'],
    ['out', 'base'],
    ['../repo/top.sls', 'base'],
    ['/etc/passwd', 'base'],
    ['top.sls', 'master'],
    ['top.sls', 'nope'],
    ['top.sls', '../base'],
    ['top.sls', '--upload-pack=x'],
    ['top.sls', 'f'.repeat(40)],
  ] as const) {
    expect(await backend.find(path, env)).toBeUndefined();
  }
});

test('lists have the files, directories and links of a commit', async () => {
  await repository('repo');
  const backend = serve([{ [join(dir, 'repo')]: [{ root: 'sub' }, { mountpoint: 'salt://m/n' }] }]);
  expect(await backend.lists('base')).toEqual({
    files: ['m/n/deep/ü', 'm/n/run.sh'],
    dirs: ['m/n', 'm/n/deep'],
    emptyDirs: [],
    links: new Map(),
  });
  expect(await contentOf(backend, 'm/n/deep/ü', 'base')).toBe('deep');
  expect(await backend.find('deep/ü', 'base')).toBeUndefined();
  expect(await backend.find('m/n/../../top.sls', 'base')).toBeUndefined();
  const links = (await serve([join(dir, 'repo')]).lists('base')).links;
  expect([...links]).toEqual([
    ['link', 'top.sls'],
    ['out', '../../outside'],
  ]);
});

test('options of a remote and of an environment stand before the global ones', async () => {
  await repository('repo');
  const url = join(dir, 'repo');
  const mapped = serve(
    [
      {
        [url]: [{ saltenv: [{ prod: [{ ref: 'v1' }, { mountpoint: 'p' }] }] }, { base: 'master' }],
      },
    ],
    { saltenv: [{ qa: [{ ref: 'dev' }] }], saltenv_blacklist: ['mas*'] },
  );
  expect(await mapped.envs()).toEqual(['base', 'prod', 'qa']);
  expect(await contentOf(mapped, 'p/top.sls', 'prod')).toBe('one');
  expect(await contentOf(mapped, 'top.sls', 'base')).toBe('two');
  expect(await contentOf(mapped, 'top.sls', 'qa')).toBe('dev');
  const all = serve([{ [url]: [{ all_saltenvs: 'v1' }, { fallback: 'dev' }] }]);
  expect(await contentOf(all, 'top.sls', 'whatever')).toBe('one');
  const fallback = serve([{ [url]: { fallback: 'dev', disable_saltenv_mapping: false } }]);
  expect(await contentOf(fallback, 'top.sls', 'whatever')).toBe('dev');
  const closed = serve([{ [url]: { disable_saltenv_mapping: true, ref_types: ['branch'] } }]);
  expect(await closed.envs()).toEqual(['base']);
  expect(await closed.find('top.sls', 'dev')).toBeUndefined();
});

test('the first remote that has a file serves it; a push is seen', async () => {
  await repository('one');
  await repository('two');
  await commit('two', { second: '2' });
  const backend = serve([join(dir, 'one'), join(dir, 'two')], {}, 100);
  expect(await contentOf(backend, 'second', 'base')).toBe('2');
  await commit('one', { second: '1' });
  await expect.poll(() => contentOf(backend, 'second', 'base')).toBe('1');
  git('one', 'branch', '-qD', 'dev');
  git('two', 'branch', '-qD', 'dev');
  await expect.poll(() => backend.envs()).toEqual(['base', 'v1']);
});

test('CVE-2023-20898: remotes of one name, and two ways to fetch one, share no copy', async () => {
  await repository('one/repo');
  await repository('two/repo');
  await commit('two/repo', { 'top.sls': 'other' });
  const [one, two] = [join(dir, 'one/repo'), join(dir, 'two/repo')];
  expect(await contentOf(serve([one]), 'top.sls', 'base')).toBe('two');
  expect(await contentOf(serve([two]), 'top.sls', 'base')).toBe('other');
  const narrow = { refspecs: ['+refs/heads/dev:refs/remotes/origin/dev'] };
  expect(await serve([{ [one]: narrow }]).envs()).toEqual(['dev']);
  expect(await serve([one]).envs()).toEqual(['base', 'dev', 'v1']);
});

test('an unreachable remote is reported once, and serves the last fetch', async () => {
  await repository('repo');
  const url = join(dir, 'repo');
  expect(await contentOf(serve([url]), 'top.sls', 'base')).toBe('two');
  await rm(join(dir, 'repo'), { recursive: true });
  const away = serve([url], {}, 50);
  expect(await contentOf(away, 'top.sls', 'base')).toBe('two');
  await expect.poll(() => told).toHaveLength(1);
  expect(told[0]?.[1]).toContain('git fetch');
  expect(await serve([join(dir, 'nowhere')]).envs()).toEqual([]);
});

test.each([
  [[{ url: { nope: 1 } }], /there is no option nope/],
  [['--upload-pack=x'], /not a URL/],
  [[{ url: { ref_types: ['twig'] } }], /no ref type twig/],
  [[{ a: {}, b: {} }], /each entry/],
  [[7], /not a map/],
  [[{ url: { passphrase: 'x' } }], /ssh-agent/],
])('%j is refused', (remotes, problem) => {
  expect(() => readRemotes(remotes, GLOBALS)).toThrow(problem);
});

test('user and password go over https only', () => {
  expect(() => serve([{ 'http://h/r': { user: 'u', password: 'p' } }])).toThrow(/https only/);
});

test('an update reaches all workers of a host at once, and a lock stops it', async () => {
  await repository('repo');
  const url = join(dir, 'repo');
  const [one, other] = [serve([url]), serve([url])];
  expect(await contentOf(one, 'top.sls', 'base')).toBe('two');
  expect(await contentOf(other, 'top.sls', 'base')).toBe('two');
  await commit('repo', { 'top.sls': 'three' });
  const { done } = await one.copies.lock('*/repo');
  expect(done).toEqual([expect.stringContaining(`Set update lock for gitfs remote '${url}'`)]);
  expect(await other.copies.lock()).toEqual({ done: [], errors: [] });
  await other.copies.update();
  expect(await contentOf(other, 'top.sls', 'base')).toBe('two');
  expect((await other.copies.clearLock('*/nothing')).done).toEqual([]);
  expect((await other.copies.clearLock()).done).toHaveLength(1);
  await one.copies.update(['another']);
  expect(await contentOf(one, 'top.sls', 'base')).toBe('two');
  await one.copies.update([url]);
  expect(await contentOf(other, 'top.sls', 'base')).toBe('three');
});

test('of the workers of a host one fetches in each interval, and all see what it brought', async () => {
  await repository('repo');
  const everyMs = 1_000;
  const fetchedAt: number[] = [];
  const onFetched = (): void => void fetchedAt.push(Date.now());
  const workers = Array.from({ length: 4 }, () =>
    serve([join(dir, 'repo')], {}, everyMs, onFetched),
  );
  await Promise.all(workers.map((worker) => worker.envs()));
  const begun = Date.now();
  await commit('repo', { 'top.sls': 'three' });
  for (const worker of workers) {
    await expect.poll(() => contentOf(worker, 'top.sls', 'base')).toBe('three');
  }
  await growsOld('what was fetched', Math.max(0, begun + 5 * everyMs - Date.now()));
  const later = fetchedAt.filter((at) => at > begun);
  // Four workers would have fetched some 20 times.
  expect(later.length).toBeGreaterThanOrEqual(2);
  expect(later.length).toBeLessThanOrEqual(8);
});

test('a copy that is cleared is fetched again', async () => {
  await repository('repo');
  const backend = serve([join(dir, 'repo')]);
  expect(await contentOf(backend, 'top.sls', 'base')).toBe('two');
  await commit('repo', { 'top.sls': 'three', 'sub/run.sh': 'new' });
  expect(await backend.copies.clear()).toEqual([]);
  expect(await contentOf(backend, 'sub/run.sh', 'base')).toBe('new');
  await backend.copies.lock();
  expect(await backend.copies.clear()).toEqual([expect.stringContaining('it is being updated')]);
});

test('workers of a host that begin at once all have the files', async () => {
  await repository('repo');
  for (let round = 0; round < 10; round += 1) {
    const workers = Array.from({ length: 4 }, () => serve([join(dir, 'repo')]));
    const found = await Promise.all(workers.map((one) => contentOf(one, 'top.sls', 'base')));
    expect([round, told, ...found]).toEqual([round, [], 'two', 'two', 'two', 'two']);
    await Promise.all(opened.splice(0).map((backend) => backend.close()));
    await rm(join(dir, 'cache'), { recursive: true });
  }
});
