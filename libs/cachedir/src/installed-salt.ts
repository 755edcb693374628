import { closeSync, existsSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import type { IpcFraming } from '@brine/wire/frames';
import type { BankLayout } from './bank-files.ts';

/** The Salt whose tools run on this host. */
export interface InstalledSalt {
  /** As in its Python package: `3006.26`. */
  readonly version: string;
  readonly path: string;
}

/** What the tools of a Salt version expect of `master_event_pub.ipc`. */
export interface SocketDialect {
  readonly framing: IpcFraming;
  /** Does `_stamp` end in `+00:00`? */
  readonly zone: boolean;
  /** Does its `salt` overlook what came before it first looked, until one more event comes? */
  readonly wakes: boolean;
}

/** Looks for `salt` on the search path and asks its Python package for the version. */
export function findInstalledSalt(path: string): InstalledSalt | undefined {
  for (const dir of path.split(delimiter)) {
    const found = isAbsolute(dir) ? saltOfScript(join(dir, 'salt')) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The Salt that a script belongs to; undefined for another's. */
function saltOfScript(script: string): InstalledSalt | undefined {
  if (!isAbsolute(script) || !existsSync(script)) return undefined;
  const versions = pythonRoots(script).map(packageVersion);
  const version = versions.find((one) => one !== undefined);
  return version === undefined ? undefined : { version, path: script };
}

/** How a release keeps data of minions. */
export function bankLayoutOf(version: string): BankLayout {
  return Number(version.split('.')[0]) >= 3008 ? '3008' : '3006';
}

/**
 * The dialect of a version, measured against 3006.5, 3006.26, 3007.13 and 3008.2: 3006.26 reads
 * frames behind their length, all others bare ones; 3008 writes the zone into `_stamp`; 3007 has to
 * be woken. Without a Salt on the host: bare, with the zone, as the newest does.
 */
export function dialectOf(version: string | undefined): SocketDialect {
  const [major = 3008, minor = 0] = (version ?? '3008').split('.').map(Number);
  return {
    framing: major === 3006 && minor >= 26 ? 'prefixed' : 'bare',
    zone: major >= 3008,
    wakes: major === 3007,
  };
}

/** Where the Python of a script may lie: its own tree, its real path's, its interpreter's. */
function pythonRoots(script: string): readonly string[] {
  const real = realpathSync(script);
  const roots = [dirname(dirname(script)), dirname(dirname(real)), dirname(real)];
  const interpreter = /^#!\s*(\/\S+)/.exec(firstBytes(real))?.[1];
  if (interpreter !== undefined) roots.push(dirname(dirname(interpreter)));
  return [...new Set([...roots, '/usr'])];
}

function packageVersion(root: string): string | undefined {
  for (const lib of names(join(root, 'lib')).filter((name) => name.startsWith('python3'))) {
    for (const packages of ['site-packages', 'dist-packages']) {
      for (const name of names(join(root, 'lib', lib, packages))) {
        const version = /^salt-(\d{4}(?:\.\d+)*)[^/]*\.(?:dist|egg)-info$/.exec(name)?.[1];
        if (version !== undefined) return version;
      }
    }
  }
  return undefined;
}

function names(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch {
    // A root without Python is not that of this Salt.
    return [];
  }
}

/** The `#!` line of a script; a binary has none. */
function firstBytes(path: string): string {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(512);
    return head.toString('latin1', 0, readSync(file, head, 0, head.length, 0));
  } finally {
    closeSync(file);
  }
}
