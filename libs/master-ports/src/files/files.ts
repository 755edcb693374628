import { join } from 'node:path';
import { type MasterOptions, textsOf } from '@brine/config';
import {
  compileIgnored,
  expandRoots,
  type FileBackend,
  FileServer,
  GitfsBackend,
  type GitfsOptions,
  readRemotes,
  RootsBackend,
} from '@brine/fileserver';

/**
 * Size limit of a piece. With its envelope it stays below 256 KiB, so a reply is one message of
 * NATS and no stream. Minions continue at the end of what they received, so smaller pieces than
 * `file_buffer_size` do no harm.
 */
export const PIECE_MAX_BYTES = 248 * 1024;

/** Logs a message for the operator. */
export type Report = (fields: Readonly<Record<string, unknown>>, text: string) => void;

/**
 * Opens the file server of a worker with its options.
 * @param git callbacks after each fetch of gitfs, and after a fetch with changes
 */
export async function openFiles(
  options: MasterOptions,
  report: Report,
  git: Pick<GitfsOptions, 'onChange' | 'onFetched'> = {},
): Promise<FileServer> {
  const backends: FileBackend[] = [];
  for (const name of options.fileserverBackend) {
    if (name === 'roots') backends.push(await rootsOf(options, report));
    else if (name === 'gitfs' || name === 'git') backends.push(gitfsOf(options, report, git));
    else report({ backend: name }, 'this fileserver_backend is not served');
  }
  const pieceBytes = Math.min(options.fileBufferSize, PIECE_MAX_BYTES);
  return new FileServer({ backends, hashType: options.hashType, pieceBytes });
}

/** The directories of `file_roots` by environment. */
export async function expandedRoots(
  options: Pick<MasterOptions, 'fileRoots'>,
): Promise<Record<string, readonly string[]>> {
  const fileRoots: Record<string, readonly string[]> = Object.create(null) as object as Record<
    string,
    readonly string[]
  >;
  for (const [env, roots] of Object.entries(options.fileRoots)) {
    // As salt/config `_normalize_roots`: a value that is no list has no directories.
    fileRoots[env] = Array.isArray(roots) ? await expandRoots(textsOf(roots)) : [];
  }
  return fileRoots;
}

async function rootsOf(options: MasterOptions, report: Report): Promise<RootsBackend> {
  return new RootsBackend({
    fileRoots: await expandedRoots(options),
    followSymlinks: options.fileserverFollowsymlinks,
    ignoreSymlinks: options.fileserverIgnoresymlinks,
    ignored: compileIgnored(options.fileIgnoreRegex, options.fileIgnoreGlob),
    listCacheMs: options.fileserverListCacheTime * 1000,
    onTooLarge: (root) => report({ root }, 'a root of file_roots is too large: not all is listed'),
  });
}

/** The options of gitfs, by their names below a remote. */
function gitfsOf(
  options: MasterOptions,
  report: Report,
  git: Pick<GitfsOptions, 'onChange' | 'onFetched'>,
): GitfsBackend {
  const remotes = readRemotes(options.gitfsRemotes, {
    base: options.gitfsBase,
    fallback: options.gitfsFallback,
    mountpoint: options.gitfsMountpoint,
    root: options.gitfsRoot,
    saltenv: options.gitfsSaltenv,
    saltenv_whitelist: options.gitfsSaltenvWhitelist,
    saltenv_blacklist: options.gitfsSaltenvBlacklist,
    disable_saltenv_mapping: options.gitfsDisableSaltenvMapping,
    ref_types: options.gitfsRefTypes,
    refspecs: options.gitfsRefspecs,
    update_interval: options.gitfsUpdateInterval,
    depth: options.gitfsDepth,
    ssl_verify: options.gitfsSslVerify,
    proxy: options.gitfsProxy,
    user: options.gitfsUser,
    password: options.gitfsPassword,
    insecure_auth: options.gitfsInsecureAuth,
    privkey: options.gitfsPrivkey,
    passphrase: options.gitfsPassphrase,
  });
  return new GitfsBackend({
    remotes,
    cacheDir: join(options.cachedir, 'brine-gitfs'),
    report: (remote, problem) =>
      report(
        { remote, problem },
        problem === undefined ? 'gitfs: it is back' : 'gitfs: not fetched',
      ),
    ...git,
  });
}
