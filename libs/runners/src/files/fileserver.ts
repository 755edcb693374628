import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { compareText, isTruthy, pyRepr, pyStr, strip } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
} from '../function.ts';
import { namesGiven, textGiven } from '../given-values.ts';
import type { AdminDone } from '../host-ports.ts';

const BACKEND = ['backend', null] as const;
const LISTED = [['saltenv', 'base'], BACKEND] as const;

const ABOUT_BACKEND =
  'backend: names of backends, as a list or with commas; with a dash before each, all others ' +
  '(default: all).';

const envs: RunnerFunction = {
  name: 'fileserver.envs',
  parameters: [BACKEND, ['sources', false]],
  doc:
    `Lists the environments of the file server. ${ABOUT_BACKEND} ` +
    'sources: list the backends that were asked instead (default False).',
  async run({ named }, context) {
    const found = await masterOf(context).files.envs(namesGiven(named.get('backend')));
    const isBySource = isTruthy(named.get('sources'));
    const names = isBySource ? [...found.keys()] : [...found.values()].flat();
    return { value: [...new Set(names)].sort(compareText) };
  },
};

function lists({ named }: BoundArguments, context: RunnerContext, byBackend = true) {
  const backends = byBackend ? namesGiven(named.get('backend')) : undefined;
  return masterOf(context).files.lists(pyStr(named.get('saltenv') ?? null), backends);
}

function listing(name: string, kind: 'files' | 'dirs' | 'emptyDirs', what: string): RunnerFunction {
  // Salt does not narrow empty directories.
  const isNarrowed = kind !== 'emptyDirs';
  return {
    name,
    parameters: LISTED,
    doc:
      `Lists the ${what} of an environment. saltenv: the environment (default base). ` +
      (isNarrowed ? ABOUT_BACKEND : 'backend: accepted, but all are asked, as in Salt.'),
    run: async (given, context) => ({
      value: [...(await lists(given, context, isNarrowed))[kind]],
    }),
  };
}

const symlinks: RunnerFunction = {
  name: 'fileserver.symlink_list',
  parameters: LISTED,
  doc:
    'Shows the symbolic links of an environment with their targets. ' +
    `saltenv: the environment (default base). ${ABOUT_BACKEND}`,
  run: async (given, context) => ({ value: new Map((await lists(given, context)).links) }),
};

const update: RunnerFunction = {
  name: 'fileserver.update',
  parameters: [BACKEND],
  open: 'kwargs',
  doc:
    'Fetches the remotes of gitfs now. The answer comes when the host of the worker has them. ' +
    `Workers on other hosts fetch too. ${ABOUT_BACKEND} ` +
    'remotes: only these, by URL or name.',
  async run({ named, kwargs }, context) {
    for (const name of kwargs.keys()) {
      if (name === 'remotes' || pyStr(name).startsWith('__')) continue;
      throw new InvalidArgumentsError(
        `update() got an unexpected keyword argument '${pyStr(name)}'`,
      );
    }
    const { fileServer } = masterOf(context);
    await fileServer.update(namesGiven(named.get('backend')), namesGiven(kwargs.get('remotes')));
    return { value: true };
  },
};

const clearCache: RunnerFunction = {
  name: 'fileserver.clear_cache',
  parameters: [BACKEND],
  doc:
    'Empties the copies of the remotes of gitfs and fetches them again. Workers on other hosts ' +
    `do the same. ${ABOUT_BACKEND}`,
  async run({ named }, context) {
    const { fileServer } = masterOf(context);
    const done = await fileServer.clearCopies(namesGiven(named.get('backend')));
    return { value: shown(done, 'cleared', 'No cache was cleared') };
  },
};

const clearLists: RunnerFunction = {
  name: 'fileserver.clear_file_list_cache',
  parameters: [['saltenv', null], BACKEND],
  doc:
    'Forgets the lists of files that all workers keep; shows those that the answering worker ' +
    'had. Lists follow changes of directories by themselves. saltenv: environments, as a list ' +
    `or with commas (default: all). ${ABOUT_BACKEND}`,
  async run({ named }, context) {
    const given = named.get('saltenv') ?? null;
    const saltenvs = Array.isArray(given) ? given.map(pyStr) : pyStr(given).split(',').map(strip);
    const found = masterOf(context).fileServer.forgetLists(
      given === null ? undefined : saltenvs,
      namesGiven(named.get('backend')),
    );
    return { value: new Map([...found].map(([back, names]) => [back, [...names]])) };
  },
};

/** `lock` and `clear_lock`. */
function locking(to: 'lock' | 'clear', doc: string): RunnerFunction {
  return {
    name: to === 'lock' ? 'fileserver.lock' : 'fileserver.clear_lock',
    parameters: [BACKEND, ['remote', null]],
    doc: `${doc} ${ABOUT_BACKEND} remote: a glob of URLs (default: all).`,
    run: async ({ named }, context) => ({
      value: await changeLocks(context, to, named),
    }),
  };
}

async function changeLocks(
  context: RunnerContext,
  to: 'lock' | 'clear',
  named: ReadonlyMap<string, SaltValue>,
): Promise<SaltValue> {
  const remote = isTruthy(named.get('remote')) ? named.get('remote') : undefined;
  const [key, none] =
    to === 'lock' ? ['locked', 'No locks were set'] : ['cleared', 'No locks were removed'];
  if (to === 'lock' && remote !== undefined && typeof remote !== 'string') {
    return mapOf({ errors: [`Badly formatted remote pattern '${pyRepr(remote)}'`] });
  }
  const glob = remote === undefined ? undefined : pyStr(remote);
  const { fileServer } = masterOf(context);
  return shown(await fileServer.changeLocks(to, namesGiven(named.get('backend')), glob), key, none);
}

function shown({ done, errors }: AdminDone, key: string, none: string): SaltMap | string {
  const value = mapOf({
    [key]: done.length > 0 ? [...done] : undefined,
    errors: errors.length > 0 ? [...errors] : undefined,
  });
  return value.size === 0 ? none : value;
}

/** `fileserver.*` (salt/runners/fileserver.py). */
export const FILESERVER_RUNNER: readonly RunnerFunction[] = [
  envs,
  listing('fileserver.file_list', 'files', 'files'),
  listing('fileserver.dir_list', 'dirs', 'directories'),
  listing('fileserver.empty_dir_list', 'emptyDirs', 'empty directories'),
  symlinks,
  update,
  clearCache,
  clearLists,
  locking(
    'lock',
    'Stops the updates of gitfs on the host of the worker until fileserver.clear_lock.',
  ),
  locking(
    'clear',
    'Removes the update locks of gitfs on the host of the worker, those in use too.',
  ),
];

const LOCK_TYPES = ['update', 'checkout', 'mountpoint'];

const updateGitPillars: RunnerFunction = {
  name: 'git_pillar.update',
  parameters: [
    ['branch', null],
    ['repo', null],
  ],
  doc:
    'Fetches the remotes of git pillars now, on the host of the worker: True where something ' +
    'came, None where not, False where it failed. branch, repo: only the remotes with this ' +
    'branch, or this URL or name (default: all).',
  async run({ named }, context) {
    const [branch, repo] = [textGiven(named, 'branch') ?? null, textGiven(named, 'repo') ?? null];
    const value = await masterOf(context).fileServer.updateGitPillars(branch, repo);
    if (value.size > 0) return { value };
    throw new Error(
      branch === null && repo === null
        ? 'No git_pillar remotes are configured'
        : 'Specified git branch/repo not found in ext_pillar config',
    );
  },
};

const clearGitLock: RunnerFunction = {
  name: 'cache.clear_git_lock',
  parameters: [['role'], ['remote', null]],
  open: 'kwargs',
  doc:
    'Removes locks of git remotes. role: gitfs, or git_pillar, which has none here. remote: a ' +
    'glob of URLs (default: all). type: update, checkout, mountpoint, as a list or with commas; ' +
    'here there are update locks only (default: all).',
  async run({ named, kwargs }, context) {
    const others = [...kwargs].filter(([name]) => name !== 'type' && !pyStr(name).startsWith('__'));
    if (others.length > 0) {
      const text = others.map(([name, value]) => `${pyStr(name)}=${pyStr(value)}`).join(', ');
      throw new InvalidArgumentsError(`The following keyword arguments are not valid: ${text}`);
    }
    const role = textGiven(named, 'role') ?? '';
    if (!['gitfs', 'git_pillar', 'winrepo'].includes(role)) {
      throw new Error(`Invalid role '${role}'`);
    }
    const types = namesGiven(kwargs.get('type')) ?? LOCK_TYPES;
    if (role !== 'gitfs' || !types.map(strip).includes('update')) {
      return { value: 'No locks were removed' };
    }
    return { value: await changeLocks(context, 'clear', named) };
  },
};

/** Runners about git remotes (salt/runners/git_pillar.py, cache.py `clear_git_lock`). */
export const GIT_RUNNER: readonly RunnerFunction[] = [updateGitPillars, clearGitLock];
