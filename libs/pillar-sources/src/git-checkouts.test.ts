import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mapOf } from '@brine/wire';
import { checkoutOf, GitPillarError, type GitSettings } from './git-checkouts.ts';
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

test('a branch has its files, a change is seen, the commit before stays for whoever reads it', () => {
  const before = checkoutOf(repository, ['master'], settings);
  expect(textOf(before)).toBe('a: 1\n');
  commit('a: 2\n');
  const after = checkoutOf(repository, ['master'], settings);
  expect(textOf(after)).toBe('a: 2\n');
  expect(textOf(before)).toBe('a: 1\n');
  expect(textOf(checkoutOf(repository, ['dev'], settings))).toBe('a: 1\n');
  expect(readdirSync(join(after, '..', '..')).sort()).toEqual(['fetched', 'git', 'trees']);
});

test('within the interval nothing is fetched', () => {
  const slow = { ...settings, updateIntervalMs: 3_600_000 };
  const before = checkoutOf(repository, ['master'], slow);
  commit('a: 3\n');
  expect(checkoutOf(repository, ['master'], slow)).toBe(before);
});

test('links lead to files of the checkout only', () => {
  const checkout = checkoutOf(repository, ['dev'], settings);
  expect(textOf(checkout, 'in.sls')).toBe('a: 1\n');
  expect(textOf(checkout, 'out.sls')).toBeUndefined();
});

test('a fallback stands in for a branch that is not there; without one it is an error', () => {
  expect(textOf(checkoutOf(repository, ['none', 'dev'], settings))).toBe('a: 1\n');
  expect(() => checkoutOf(repository, ['none'], settings)).toThrow(GitPillarError);
});

test('a repository that is away is told of, what was fetched goes on', () => {
  const other = join(dir, 'other');
  execFileSync('git', ['clone', '--quiet', repository, other], { stdio: 'ignore' });
  const before = checkoutOf(other, ['master'], settings);
  rmSync(other, { recursive: true });
  expect(checkoutOf(other, ['master'], settings)).toBe(before);
  expect(lines.at(-1)).toContain('was not fetched');
});

test.each(['-c', 'ext::sh -c true'])('%s is no repository', (url) => {
  expect(() => checkoutOf(url, ['master'], settings)).toThrow(GitPillarError);
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
