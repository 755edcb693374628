import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { childEnvironment } from '@brine/environment';
import { giveFile, giveTree, isSystemError, type NewOwner } from '@brine/files';
import { KEY_SHELVES, shelfDir } from '@brine/pki';
import { isSyslog } from '@brine/service';
import type { Account } from './account.ts';
import { errnoOf, noAccess, reasonOf, StartRefusal } from './start-refusal.ts';

/** A directory of a master, and its mode. */
interface Wanted {
  readonly path: string;
  readonly mode: number;
}

/** Modes that Salt accepts for pki_dir; any other becomes the first (salt/utils/verify.py). */
const PKI_MODES = [0o700, 0o750];
/** Others may enter: PostgreSQL may run as another user below it. */
const STATE_MODE = 0o711;
const PLAIN_MODE = 0o755;
const LOG_UMASK = 0o027;
/** chown(2) keeps the group, as in Salt. */
const SAME_GROUP = -1;

/** The directories of a master, parents first (Salt: salt/cli/daemons.py). */
export function directoriesOf(options: MasterOptions): readonly Wanted[] {
  const { cachedir, ownPkiDir, pkiDir } = options;
  const isCluster = pkiDir !== ownPkiDir;
  const pki = [ownPkiDir, ...(isCluster ? [pkiDir, join(pkiDir, 'peers')] : [])];
  const plain = [
    ...[cachedir, join(cachedir, 'jobs'), join(cachedir, 'proc'), options.sockDir],
    ...[options.tokenDir, options.syndicDir],
  ];
  return [
    ...pki.map((path) => ({ path, mode: 0o700 })),
    ...KEY_SHELVES.map((shelf) => ({ path: shelfDir(pkiDir, shelf), mode: 0o700 })),
    ...plain.map((path) => ({ path, mode: PLAIN_MODE })),
    { path: options.brine.stateDir, mode: STATE_MODE },
  ];
}

/**
 * Makes the directories and the log file of a master, with owner and modes of a stock master (Salt:
 * verify_env, verify_log_files). Root gives existing ones to the account; other users must be able
 * to write there.
 * @throws StartRefusal, with the errno as code if Salt exits with that
 */
export async function verifyEnv(options: MasterOptions, account: Account): Promise<void> {
  const { uid, gid } = account;
  if (!options.verifyEnv) {
    // Root has just written the claim to this directory of Brine.
    if (account.isOther) await giveTree(options.brine.stateDir, { uid, gid });
    return;
  }
  const keepGroups = options.permissivePkiAccess ? groupsOf(account.name) : new Set<number>();
  const owner = process.getuid?.() === 0 ? { uid, gid, keepGroups } : undefined;
  for (const { path, mode } of directoriesOf(options)) {
    make(path, mode);
    if (owner === undefined) mustWrite(path, account);
    else await giveDirectory(path, owner, options);
  }
  for (const path of new Set([options.ownPkiDir, options.pkiDir])) closePki(path, account);
  if (account.isOther) giveJournal(options.pkiDir, account);
  for (const path of logFilesOf(options)) verifyLogFile(path, owner);
}

function make(path: string, mode: number): void {
  const umask = process.umask(0o022);
  try {
    if (mkdirSync(path, { recursive: true }) !== undefined) setMode(path, mode);
  } catch (error) {
    throw new StartRefusal(
      errnoOf(error),
      `Failed to create directory path "${path}" - ${reasonOf(error)}`,
      { cause: error },
    );
  } finally {
    process.umask(umask);
  }
}

/** Follows no link: where the account may write, a link may have replaced the directory. */
function setMode(path: string, mode: number): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

function mustWrite(path: string, account: Account): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { name } = account;
    const text = `${name} can not write in ${path}: ${reasonOf(error)}; chown it to ${name}`;
    throw new StartRefusal(errnoOf(error), text, { cause: error });
  }
}

/**
 * Gives a directory to the account. If that is root, files below keep their owners, as the data of
 * PostgreSQL, which runs as another user. The many files of the cache are checked only when their
 * directory changes its owner.
 */
async function giveDirectory(
  path: string,
  owner: NewOwner,
  { cachedir }: MasterOptions,
): Promise<void> {
  const { uid, gid } = owner;
  const { uid: hadUid, gid: hadGid } = statSync(path);
  const isNew = uid !== hadUid || gid !== hadGid;
  if (uid === 0) {
    if (isNew) chownSync(path, uid, gid);
    return;
  }
  const isMany = path === cachedir || path === join(cachedir, 'jobs');
  if (isNew || !isMany) await giveTree(path, owner);
}

/**
 * The journal of the key files is beside pki_dir, or in it if the account can not write beside it.
 * Moves there a journal that root has begun beside it.
 */
function giveJournal(pkiDir: string, account: Account): void {
  const above = dirname(pkiDir);
  const name = `${basename(pkiDir)}.brine-keys`;
  const isOpen = statSync(above).uid === account.uid;
  for (const found of readdirSync(above)) {
    if (found !== name && !found.startsWith(`${name}.`)) continue;
    const path = join(above, found);
    if (isOpen) {
      giveFile(path, account);
      continue;
    }
    const given = join(pkiDir, `.brine-keys${found.slice(name.length)}`);
    // The account may write there: root must not follow its links.
    rmSync(given, { force: true });
    writeFileSync(given, readFileSync(path), { flag: 'wx', mode: 0o600 });
    giveFile(given, account);
    rmSync(path);
  }
}

/** Root follows no link: where the account may write, a link could lead to any directory. */
function closePki(path: string, { isOther }: Account): void {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  let fd: number | undefined;
  try {
    fd = openSync(path, isOther ? flags | constants.O_NOFOLLOW : flags);
    const mode = fstatSync(fd).mode & 0o7777;
    if (!PKI_MODES.includes(mode)) fchmodSync(fd, 0o700);
  } catch (error) {
    if (isOther && isSystemError(error, 'ELOOP', 'ENOTDIR')) return;
    const why = reasonOf(error);
    const text = `others may enter ${path}, and its mode can not be set: ${why}; chmod it to 0700`;
    throw new StartRefusal(errnoOf(error), text, { cause: error });
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The log files of a master: its own, and that of the relay, if used. */
export function logFilesOf(options: MasterOptions): readonly string[] {
  const { logFile, syndicLogFile, logLevel, logLevelLogfile } = options;
  const level = logLevelLogfile === '' ? logLevel : logLevelLogfile;
  if (isSyslog(logFile) || level === 'quiet' || logLevel === 'quiet') return [];
  return syndicLogFile === '' ? [logFile] : [logFile, syndicLogFile];
}

/** Salt exits with 1 if it can not open its log file. */
function verifyLogFile(path: string, owner?: NewOwner): void {
  const umask = process.umask(0o022);
  try {
    // The account must be able to enter it, also if root owns it.
    mkdirSync(dirname(path), { recursive: true });
    process.umask(LOG_UMASK);
    // A link is not changed: the account must be able to write to its target.
    if (owner === undefined || owner.uid === 0) closeSync(openSync(path, 'a', 0o666));
    else giveFile(path, { uid: owner.uid, gid: SAME_GROUP }, 0o666);
  } catch (error) {
    const isClosed = (error as NodeJS.ErrnoException).code === 'EACCES';
    const text = isClosed ? noAccess(path) : `Failed to create path "${path}" - ${reasonOf(error)}`;
    throw new StartRefusal(1, text, { cause: error });
  } finally {
    process.umask(umask);
  }
}

function groupsOf(user: string): ReadonlySet<number> {
  const asked = spawnSync('id', ['-G', '--', user], {
    env: childEnvironment(process.env),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const words = asked.error === undefined ? asked.stdout.trim().split(/\s+/) : [];
  return new Set(words.filter((word) => word !== '').map(Number));
}
