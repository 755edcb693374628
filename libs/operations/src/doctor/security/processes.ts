import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import type { SupervisorState } from '@brine/service/processes';

/** An address at which a process accepts TCP connections. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A process of the master, as /proc shows it. */
export interface ProcessSeen {
  readonly pid: number;
  /** Name of the service, or of the program. */
  readonly name: string;
  /** Undefined for other processes: engines, NATS, PostgreSQL. */
  readonly service: string | undefined;
  readonly uid: number;
  readonly commandLine: string;
  /** Undefined if this user may not read it. */
  readonly environment: ReadonlyMap<string, string> | undefined;
  /** Undefined if this user may not see its sockets. */
  readonly listens: readonly ListenAddress[] | undefined;
}

/** Maximum of processes to examine; a host has some hundred. */
const PROCESSES_MAX = 50_000;
/** State of a listening socket in /proc/net/tcp. */
const LISTEN = '0A';
const PID = /^\d+$/;

/** The supervisor of a master with all its descendants. */
export async function masterProcesses(state: SupervisorState): Promise<ProcessSeen[]> {
  const names = new Map([[state.pid, 'supervisor']]);
  for (const { name, pid } of state.services) if (pid !== undefined) names.set(pid, name);
  const listening = await listeningSockets();
  const found: ProcessSeen[] = [];
  for (const pid of await familyOf(state.pid)) {
    const one = await lookAt(pid, names.get(pid), listening);
    if (one !== undefined) found.push(one);
  }
  return found;
}

/** A process and all of its descendants. */
async function familyOf(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => PID.test(name)).slice(0, PROCESSES_MAX);
  const children = new Map<number, number[]>();
  for (const child of pids) {
    const text = await textOf(`/proc/${child}/stat`);
    // The name in brackets may contain any character: parse after the last bracket.
    const parent = Number(text?.slice(text.lastIndexOf(')') + 1).split(' ')[2]);
    if (!Number.isInteger(parent)) continue;
    children.set(parent, [...(children.get(parent) ?? []), Number(child)]);
  }
  const family = [pid];
  for (const one of family) family.push(...(children.get(one) ?? []));
  return family;
}

async function lookAt(
  pid: number,
  service: string | undefined,
  listening: ReadonlyMap<string, ListenAddress>,
): Promise<ProcessSeen | undefined> {
  const [owner, commandLine, environ] = await Promise.all([
    stat(`/proc/${pid}`).catch(() => undefined),
    textOf(`/proc/${pid}/cmdline`),
    textOf(`/proc/${pid}/environ`),
  ]);
  // The process has ended meanwhile.
  if (owner === undefined || commandLine === undefined) return undefined;
  const program = commandLine.split('\0')[0]?.split('/').at(-1) ?? '';
  return {
    pid,
    service,
    uid: owner.uid,
    commandLine,
    name: service ?? (program.split(' ')[0] || String(pid)),
    environment: environ === undefined ? undefined : variablesIn(environ),
    listens: await listensOf(pid, listening),
  };
}

function variablesIn(environ: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const pair of environ.split('\0')) {
    const at = pair.indexOf('=');
    if (at > 0) found.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return found;
}

async function listensOf(
  pid: number,
  listening: ReadonlyMap<string, ListenAddress>,
): Promise<ListenAddress[] | undefined> {
  let names: string[];
  try {
    names = await readdir(`/proc/${pid}/fd`);
  } catch {
    return undefined; // Another user's.
  }
  const links = await Promise.all(
    names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')),
  );
  return links.flatMap((link) => listening.get(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? '') ?? []);
}

/** The listening TCP sockets of this host, by their inodes. */
async function listeningSockets(): Promise<Map<string, ListenAddress>> {
  const found = new Map<string, ListenAddress>();
  for (const path of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of ((await textOf(path)) ?? '').split('\n')) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
      const [host = '', port = ''] = local.split(':');
      if (state !== LISTEN || inode === undefined) continue;
      found.set(inode, { host: addressIn(host), port: parseInt(port, 16) });
    }
  }
  return found;
}

/** An address in the kernel's form: groups of four bytes, each with its last byte first. */
export function addressIn(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => {
    return (word.match(/../g) ?? []).reverse().map((byte) => parseInt(byte, 16));
  });
  if (bytes.length === 4) return bytes.join('.');
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff;
  if (isMapped) return bytes.slice(12).join('.');
  const groups: string[] = [];
  for (let at = 0; at < bytes.length; at += 2) {
    groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  }
  const text = groups.join(':');
  if (text === '0:0:0:0:0:0:0:0') return '::';
  return text === '0:0:0:0:0:0:0:1' ? '::1' : text;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined; // It has ended, or is another user's.
  }
}
