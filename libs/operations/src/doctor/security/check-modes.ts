import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { type Finding, some } from '../../findings/finding.ts';
import { mayHave, NOT_OWNER, type WideChoices } from './expected-modes.ts';
import { type MadeFile, madeFiles, type MadeRoots } from './made-files.ts';

/** Any user may make files in a directory of this mode, and rename those of others. */
const OTHERS_WRITE = 0o002;
const GROUP_WRITES = 0o020;
const STICKY = 0o1000;
/** The key of a local user belongs to that user; the data of PostgreSQL to its account. */
const OF_OTHERS = /^(cache\/\.[^/]+_key|state\/postgres\/data)$/;

/** The users that files of a master may belong to. */
export interface MasterOwner {
  readonly uid: number;
  readonly gid: number;
}

/** The directories of a master. */
export function rootsOf({ pkiDir, cachedir, sockDir, brine }: MasterOptions): MadeRoots {
  return { pki: pkiDir, cache: cachedir, sock: sockDir, state: brine.stateDir };
}

/** The access that options allow. */
export function choicesOf(options: MasterOptions): WideChoices {
  const { permissivePkiAccess, publisherAcl, externalAuth } = options;
  const users = [...Object.keys(publisherAcl), ...Object.keys(externalAuth)];
  return { groupReadsPki: permissivePkiAccess, hasUsers: users.length > 0 };
}

/**
 * Checks owner and mode of every file, directory and socket of a master against the table.
 * @param owner undefined if this host has no such user: then only modes are checked
 */
export async function checkModes(
  options: MasterOptions,
  owner: MasterOwner | undefined,
): Promise<Finding[]> {
  const roots = rootsOf(options);
  const { files, unread, all } = await madeFiles(roots);
  const findings = [
    ...widerFindings(files, choicesOf(options)),
    ...ownerFindings(files, owner),
    ...jobFilesFinding(files, options),
    ...(await parentFindings(roots, owner)),
  ];
  if (unread.size > 0) {
    const codes = [...new Set(unread.values())].join(', ');
    const text = `${some([...unread.keys()])} can not be read (${codes}): run this as root`;
    findings.push({ level: 'warn', check: 'unread-files', text });
  }
  if (findings.length === 0) {
    const part = all ? '' : ', those of minions and jobs in part';
    const text = `${files.length} files, directories and sockets are as closed as they should be`;
    findings.push({ level: 'ok', check: 'file-modes', text: `${text}${part}` });
  }
  return findings;
}

/** Files with more rights for group and others than the table gives them. */
export function wider(files: readonly MadeFile[], choices: WideChoices): MadeFile[] {
  return files.filter(({ at, mode }) => (mode & NOT_OWNER & ~mayHave(at, choices)) !== 0);
}

function widerFindings(files: readonly MadeFile[], choices: WideChoices): Finding[] {
  const open = wider(files, choices);
  if (open.length === 0) return [];
  const named = open.map(({ path, mode, at }) => {
    const closed = mode & ~(NOT_OWNER & ~mayHave(at, choices));
    return `${path} (${octal(mode)}, chmod ${octal(closed)})`;
  });
  const text = `open to more than they should be: ${some(named)}; replace keys that were read`;
  return [{ level: 'bad', check: 'file-modes', text }];
}

function ownerFindings(files: readonly MadeFile[], owner: MasterOwner | undefined): Finding[] {
  if (owner === undefined) return [];
  const foreign = files.filter(({ at, uid }) => {
    return uid !== owner.uid && uid !== 0 && !OF_OTHERS.test(at);
  });
  if (foreign.length === 0) return [];
  const named = foreign.map(({ path, uid }) => `${path} (uid ${uid})`);
  const text = `of another user, who may change them: ${some(named)}; chown them to the master's`;
  return [{ level: 'bad', check: 'file-owners', text }];
}

/** Files of jobs have Salt's open modes: the directory above them has to be closed. */
function jobFilesFinding(files: readonly MadeFile[], { cachedir }: MasterOptions): Finding[] {
  const may = (at: string): boolean => {
    return files.some((one) => one.at === at && (one.mode & 0o001) !== 0);
  };
  if (!may('cache') || !may('cache/jobs')) return [];
  const text = `any user of this host can read arguments and returns of jobs below ${cachedir}`;
  const how = 'chmod it to 0750, and put brine.state_dir elsewhere where PostgreSQL has an account';
  return [{ level: 'warn', check: 'job-files', text: `${text}: ${how}` }];
}

/** Other users can replace the master's directory if they can write its parent. */
async function parentFindings(
  roots: MadeRoots,
  owner: MasterOwner | undefined,
): Promise<Finding[]> {
  const parents = new Set<string>();
  for (const root of Object.values(roots)) {
    for (let dir = dirname(root); dir !== dirname(dir); dir = dirname(dir)) parents.add(dir);
  }
  const open: string[] = [];
  for (const dir of parents) {
    const one = await lstat(dir).catch(() => undefined);
    if (one === undefined || (one.mode & STICKY) !== 0) continue;
    const isForeign = owner !== undefined && one.uid !== owner.uid && one.uid !== 0;
    const isOpen = (one.mode & OTHERS_WRITE) !== 0;
    const byGroup = (one.mode & GROUP_WRITES) !== 0 && one.gid !== 0 && one.gid !== owner?.gid;
    if (isForeign || isOpen || byGroup) open.push(`${dir} (${octal(one.mode & 0o7777)})`);
  }
  if (open.length === 0) return [];
  const text = `other users can replace the master's directories below ${some(open.sort())}`;
  return [{ level: 'bad', check: 'parent-directories', text: `${text}: chmod go-w` }];
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
