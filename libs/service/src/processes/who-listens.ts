import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** State of a listening socket in /proc/net/tcp. */
const LISTEN = '0A';

/**
 * The process that listens on a TCP port of this host, as `4242 (salt-master)`. Undefined if there
 * is none, or this user may not see it: only root sees the sockets of other users.
 */
export function whoListens(port: number): string | undefined {
  const inodes = socketsOn(port);
  if (inodes.size === 0) return undefined;
  const pid = namesIn('/proc').find((name) => /^\d+$/.test(name) && hasSocket(name, inodes));
  return pid === undefined ? undefined : `${pid} (${programOf(pid)})`;
}

/** True if /proc lists a listener on a TCP port of this host. */
export function isListenedOn(port: number): boolean {
  return socketsOn(port).size > 0;
}

/** The program of a process, or the script of its interpreter. */
export function programOf(pid: number | string): string {
  const [program = '', ...args] = readText(`/proc/${pid}/cmdline`).split('\0');
  const isInterpreter = /(?:^|\/)(?:node|python[\d.]*|sh|bash)$/.test(program);
  const script = isInterpreter ? args.find((arg) => arg !== '' && !arg.startsWith('-')) : undefined;
  return (script ?? program).split('/').slice(-3).join('/').slice(0, 100);
}

/** The inodes of the listening sockets of a port. */
function socketsOn(port: number): ReadonlySet<string> {
  return new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => inodesOf(path, port)));
}

function inodesOf(path: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return readText(path)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hex}`) === true && state === LISTEN)
    .flatMap((fields) => fields[9] ?? []);
}

function hasSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  return namesIn(`/proc/${pid}/fd`).some((fd) => {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1];
    return inode !== undefined && inodes.has(inode);
  });
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // Closed meanwhile.
  }
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch {
    return []; // Not Linux, another user's, or gone meanwhile.
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // As above.
  }
}
