import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';
import type { FileServerAdmin } from '../host-ports.ts';

/** A file server that notes what it is asked. */
function scene(care: Partial<FileServerAdmin> = {}) {
  const asked: unknown[] = [];
  const note =
    <T>(what: string, answer: T) =>
    async (...given: unknown[]): Promise<T> => {
      asked.push([what, ...given]);
      return answer;
    };
  const fileServer = {
    update: note('update', undefined),
    clearCopies: note('clear', { done: ['cleared it'], errors: [] }),
    changeLocks: note('locks', { done: [], errors: ['no way'] }),
    forgetLists: (...given: unknown[]) => {
      asked.push(['forget', ...given]);
      return new Map([['roots', ['base', 'dev']]]);
    },
    updateGitPillars: note('pillars', mapOf({})),
    ...care,
  };
  const files = {
    envs: async (back?: readonly string[]) => {
      asked.push(['envs', back]);
      const found: [string, string[]][] = [
        ['roots', ['prod', 'base']],
        ['gitfs', ['base', 'Dev']],
      ];
      return new Map(found);
    },
    lists: async (saltenv: string, back?: readonly string[]) => {
      asked.push(['lists', saltenv, back]);
      const links = new Map([['link', 'a']]);
      return { files: ['a', 'b'], dirs: ['d'], emptyDirs: ['e'], links };
    },
  };
  return { asked, ...sceneOf([], { more: { fileServer, files } as never }) };
}

test('environments are those of all backends, or the backends themselves', async () => {
  const { value, asked } = scene();
  expect(await value('fileserver.envs')).toEqual(['Dev', 'base', 'prod']);
  expect(await value('fileserver.envs', ['roots,git', true])).toEqual(['gitfs', 'roots']);
  expect(asked).toEqual([
    ['envs', undefined],
    ['envs', ['roots', 'git']],
  ]);
});

test('lists are those of an environment and of the backends that are named', async () => {
  const { value, asked } = scene();
  expect(await value('fileserver.file_list')).toEqual(['a', 'b']);
  expect(await value('fileserver.dir_list', ['dev', ['-git']])).toEqual(['d']);
  expect(await value('fileserver.symlink_list', [7])).toEqual(mapOf({ link: 'a' }));
  expect(await value('fileserver.empty_dir_list', ['base', 'git'])).toEqual(['e']);
  expect(asked).toEqual([
    ['lists', 'base', undefined],
    ['lists', 'dev', ['-git']],
    ['lists', '7', undefined],
    ['lists', 'base', undefined],
  ]);
});

test('an update takes remotes and nothing else', async () => {
  const { value, run, asked } = scene();
  expect(await value('fileserver.update', ['git'], mapOf({ remotes: 'a,b' }))).toBe(true);
  expect(asked).toEqual([['update', ['git'], ['a', 'b']]]);
  const wrong = await run('fileserver.update', [], mapOf({ other: 1 }));
  expect(wrong.value).toContain("update() got an unexpected keyword argument 'other'");
});

test('what was cleared and what failed is told, or that nothing was', async () => {
  const { value, asked } = scene();
  expect(await value('fileserver.clear_cache')).toEqual(mapOf({ cleared: ['cleared it'] }));
  expect(await value('fileserver.lock', [null, '*x*'])).toEqual(mapOf({ errors: ['no way'] }));
  expect(await value('fileserver.lock', [null, [1]])).toEqual(
    mapOf({ errors: ["Badly formatted remote pattern '[1]'"] }),
  );
  expect(await value('fileserver.clear_file_list_cache', ['base, dev', 'roots'])).toEqual(
    mapOf({ roots: ['base', 'dev'] }),
  );
  expect(asked.at(-1)).toEqual(['forget', ['base', 'dev'], ['roots']]);
  const none = scene({ changeLocks: async () => ({ done: [], errors: [] }) });
  expect(await none.value('fileserver.lock')).toBe('No locks were set');
  expect(await none.value('fileserver.clear_lock')).toBe('No locks were removed');
  expect(await none.value('cache.clear_git_lock', ['gitfs'])).toBe('No locks were removed');
});

test('locks of git are cleared by their role, and a wrong role or argument is an error', async () => {
  const { value, run, asked } = scene();
  await value('cache.clear_git_lock', ['gitfs', '*x*'], mapOf({ type: 'checkout, update' }));
  expect(asked).toEqual([['locks', 'clear', undefined, '*x*']]);
  await value('cache.clear_git_lock', ['gitfs'], mapOf({ type: ['checkout'] }));
  await value('cache.clear_git_lock', ['git_pillar']);
  expect(asked).toHaveLength(1);
  expect((await run('cache.clear_git_lock', ['other'])).value).toContain("Invalid role 'other'");
  const wrong = await run('cache.clear_git_lock', ['gitfs'], mapOf({ other: 1 }));
  expect(wrong.value).toContain('not valid: other=1');
});

test('git pillars are fetched by branch and repository, and a miss is an error', async () => {
  const fetched = scene({ updateGitPillars: async () => mapOf({ 'master x': null }) });
  expect(await fetched.value('git_pillar.update')).toEqual(mapOf({ 'master x': null }));
  const { run, asked } = scene();
  expect((await run('git_pillar.update')).value).toContain('No git_pillar remotes are configured');
  expect((await run('git_pillar.update', ['dev', 'x'])).value).toContain(
    'Specified git branch/repo not found in ext_pillar config',
  );
  expect(asked.at(-1)).toEqual(['pillars', 'dev', 'x']);
});
