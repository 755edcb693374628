import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { parseServeFile } from '@brine/wire/load';
import { pyRepr } from '@brine/wire/text';
import type { MasterPorts } from '../ports/ports.ts';
import type { ServedLists } from '../ports/served-ports.ts';

/* The file server for minions (salt/fileserver/__init__.py `Fileserver`); protocol.md 5. */

type FileCommand = (ports: MasterPorts, load: SaltMap) => Promise<SaltValue>;

/** Salt's answer if the file does not exist, or the minion may not read it. */
const noPiece = (): SaltMap => mapOf({ data: '', dest: '' });
const noFile = (): SaltMap => mapOf({ path: '', rel: '' });

/** `_serve_file`: one piece. A malformed load throws WireError, which answers `""`. */
export const serveFile: FileCommand = async (ports, load) => {
  const saltenv = envOf(load);
  if (!load.has('path') || !load.has('loc') || saltenv === undefined) return noPiece();
  const asked = parseServeFile(new Map(load).set('saltenv', saltenv));
  const piece = await ports.files.serve(asked);
  if (piece.dest === '') {
    ports.count('file_not_found');
    return noPiece();
  }
  ports.count('file_pieces');
  return mapOf({ data: piece.data, dest: piece.dest, gzip: piece.gzip });
};

/** `_file_find`: the path of a file, and its `stat`. */
export const findFile: FileCommand = async (ports, load) => {
  const path = load.get('path');
  if (typeof path !== 'string' || path === '') return noFile();
  const found = await ports.files.find(path, envOf(load) ?? 'base');
  if (found === undefined) return noFile();
  const { rel, back, stat } = found;
  return mapOf({ path: found.path, rel, back, stat: stat && [...stat] });
};

/** `_file_hash_and_stat`: the hash, or `""`, and Python's `stat` of the file, or nil. */
export const hashAndStat: FileCommand = async (ports, load) => {
  const path = load.get('path');
  const saltenv = envOf(load);
  const hashed =
    typeof path === 'string' && saltenv !== undefined
      ? await ports.files.hash(path, saltenv)
      : undefined;
  if (hashed === undefined) return ['', null];
  const { found, hash } = hashed;
  const sum = hash === undefined ? {} : { hash_type: hash.hashType, hsum: hash.hsum };
  return [mapOf(sum), found.stat === undefined ? null : [...found.stat]];
};

/** `_file_hash`: the hash alone; minions read `""` as "no such file". */
export const fileHash: FileCommand = async (ports, load) => {
  const both = await hashAndStat(ports, load);
  return Array.isArray(both) ? (both[0] ?? '') : '';
};

/** `_file_envs`: the environments, by backend if `sources` is set. */
export const fileEnvs: FileCommand = async (ports, load) => {
  const envs = await ports.files.envs(backendsOf(load.get('back')));
  if (load.get('sources') !== true) return allEnvs(envs);
  return new Map([...envs].map(([back, names]): [SaltValue, SaltValue] => [back, [...names]]));
};

/** All environments of all backends, sorted. */
export function allEnvs(envs: ReadonlyMap<string, readonly string[]>): string[] {
  return [...new Set([...envs.values()].flat())].sort();
}

/** `_file_list`, `_dir_list`, `_file_list_emptydirs`: sorted paths. */
export const listOf =
  (kind: 'files' | 'dirs' | 'emptyDirs'): FileCommand =>
  async (ports, load) => {
    const lists = await listsFor(ports, load, kind !== 'emptyDirs');
    if (lists === undefined) return [];
    const prefix = prefixOf(load);
    return prefix === '' ? [...lists[kind]] : lists[kind].filter((path) => path.startsWith(prefix));
  };

/** `_symlink_list`: targets by link. */
export const symlinkList: FileCommand = async (ports, load) => {
  const lists = await listsFor(ports, load, true);
  const prefix = prefixOf(load);
  return new Map([...(lists?.links ?? [])].filter(([path]) => path.startsWith(prefix)));
};

async function listsFor(
  ports: MasterPorts,
  load: SaltMap,
  choosesBackend: boolean,
): Promise<ServedLists | undefined> {
  const saltenv = envOf(load);
  if (saltenv === undefined) return undefined;
  return ports.files.lists(saltenv, choosesBackend ? backendsOf(load.get('fsbackend')) : undefined);
}

function prefixOf(load: SaltMap): string {
  const prefix = load.get('prefix');
  return typeof prefix === 'string' ? prefix.replace(/^\/+|\/+$/g, '') : '';
}

/** An environment that YAML reads as a number is its text (salt/fileserver: `str(saltenv)`). */
function envOf(load: SaltMap): string | undefined {
  const saltenv = load.get('saltenv');
  if (saltenv === undefined || typeof saltenv === 'string') return saltenv;
  return pyRepr(saltenv);
}

/** A list of backends, or a text with commas; empty: all. */
function backendsOf(back: SaltValue | undefined): readonly string[] | undefined {
  const names = typeof back === 'string' ? back.split(',') : back;
  if (!Array.isArray(names)) return undefined;
  const texts = names.filter((name) => typeof name === 'string' && name !== '') as string[];
  return texts.length === 0 ? undefined : texts;
}
