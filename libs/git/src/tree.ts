import { posix } from 'node:path';
import { type GitCall, runGit } from './run-git.ts';

/** A file or link of a commit. */
export interface Blob {
  readonly sha: string;
  /** As git has it: 0o100644, 0o100755, or 0o120000 for a link. */
  readonly mode: number;
}

/** All files of a commit, by their paths in the repository. */
export interface Tree {
  readonly blobs: ReadonlyMap<string, Blob>;
  readonly dirs: readonly string[];
  /** The targets of the links. */
  readonly links: ReadonlyMap<string, string>;
}

const LINK_MODE = 0o120000;
/** Links followed in a row (salt/utils/gitfs.py SYMLINK_RECURSE_DEPTH). */
const LINKS_MAX = 100;

/** Reads a commit with all its paths. @throws GitError where it is not there. */
export async function readTree(commit: string, call: GitCall): Promise<Tree> {
  const listed = await runGit(['ls-tree', '-r', '-t', '-z', '--full-tree', commit], call);
  const blobs = new Map<string, Blob>();
  const dirs: string[] = [];
  for (const line of listed.toString('utf8').split('\0')) {
    const match = /^(\d+) (blob|tree|commit) ([0-9a-f]+)\t([\s\S]+)$/.exec(line);
    if (match === null) continue;
    const [, mode = '', type, sha = '', path = ''] = match;
    // No request can ask for a name that is not UTF-8.
    if (path.includes('\ufffd')) continue;
    if (type === 'blob') blobs.set(path, { sha, mode: Number.parseInt(mode, 8) });
    if (type === 'tree') dirs.push(path);
  }
  return { blobs, dirs, links: await readLinks(blobs, call) };
}

async function readLinks(
  blobs: ReadonlyMap<string, Blob>,
  call: GitCall,
): Promise<Map<string, string>> {
  const links = [...blobs].filter(([, { mode }]) => mode === LINK_MODE);
  if (links.length === 0) return new Map();
  const input = `${links.map(([, { sha }]) => sha).join('\n')}\n`;
  const output = await runGit(['cat-file', '--batch'], { ...call, input });
  const targets = new Map<string, string>();
  let at = 0;
  for (const [path] of links) {
    const headEnd = output.indexOf(10, at);
    const size = Number(output.toString('latin1', at, headEnd).split(' ')[2]);
    if (headEnd < 0 || !Number.isInteger(size)) break;
    targets.set(path, output.toString('utf8', headEnd + 1, headEnd + 1 + size));
    at = headEnd + 1 + size + 1;
  }
  return targets;
}

/** The file at a path, through links that stay within the repository. */
export function fileAt(tree: Tree, path: string): Blob | undefined {
  let at = posix.normalize(path);
  for (let followed = 0; followed <= LINKS_MAX; followed += 1) {
    const blob = tree.blobs.get(at);
    if (blob === undefined || blob.mode !== LINK_MODE) return blob;
    const target = tree.links.get(at);
    if (target === undefined || target.startsWith('/')) return undefined;
    at = posix.join(posix.dirname(at), target);
    if (at.startsWith('..')) return undefined;
  }
  return undefined;
}
