import { readFileSync } from 'node:fs';
import { connect, createServer, type ListenOptions, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { claimState, ownerOfState } from './claim-state.ts';
import { livingSupervisor, readState } from './state-file.ts';
import { isListenedOn, programOf, whoListens } from './who-listens.ts';

/** The resources that only one master of a host may have. */
export interface HostClaim {
  readonly ports: readonly { readonly host: string; readonly port: number }[];
  /** Sockets that local tools connect to. */
  readonly sockets: readonly string[];
  readonly pidfile: string;
  readonly stateDir: string;
  /** How long to wait for services to stop whose supervisor died. */
  readonly leftoverMs: number;
}

/** Another process has a resource of this master, or the host denies it. */
export class HostTakenError extends Error {
  readonly code = 'SALT_MASTER_TAKEN';
  /** One line for each resource. */
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(
      `Not started, is there another master running?\n${lines.map((one) => `  ${one}`).join('\n')}`,
    );
    this.name = 'HostTakenError';
    this.lines = lines;
  }
}

/** The claimed resources. */
export interface ClaimedHost {
  /** Releases all. Idempotent. */
  release(): void;
}

/** How long a server may take to answer before its socket counts as left behind. */
const PROBE_MS = 500;
const LOOK_AGAIN_MS = 200;

/**
 * Takes the ports and the state directory of a master for this process, before anything is written.
 * If two masters start at once, one gets the ports. No port is listened on before a service serves
 * there: a balancer that probes by connecting would send minions here meanwhile. Leftovers of a
 * crash do not count. Services that stop because their supervisor died are waited for.
 * @throws HostTakenError with all that others have
 */
export async function claimHost(wanted: HostClaim): Promise<ClaimedHost> {
  const until = performance.now() + wanted.leftoverMs;
  for (;;) {
    const ports: Server[] = [];
    const close = (): void => ports.forEach((server) => server.close());
    const lines = [
      ...owners(wanted),
      ...(await claimAll(wanted.ports, ports)),
      ...(await answeringSockets(wanted.sockets)),
    ];
    const claimed = lines.length === 0 ? claimState(wanted.stateDir) : undefined;
    if (typeof claimed === 'function') {
      const release = (): void => {
        close();
        claimed();
      };
      return { release };
    }
    close();
    if (claimed !== undefined) lines.push(hasState(wanted.stateDir, claimed.owner));
    if (!isCrashed(wanted) || performance.now() > until) throw new HostTakenError(lines);
    await sleep(LOOK_AGAIN_MS);
  }
}

/** Living masters that have the state directory or are named by the pid file. */
function owners({ stateDir, pidfile }: HostClaim): string[] {
  const owner = ownerOfState(stateDir) ?? livingSupervisor(readState(stateDir));
  const named = masterIn(pidfile);
  return [
    ...(owner === undefined ? [] : [hasState(stateDir, owner)]),
    ...(named === undefined ? [] : [`${pidfile} names process ${named} (${programOf(named)})`]),
  ];
}

function hasState(stateDir: string, pid: number): string {
  return `a master runs on this cachedir already (pid ${pid}): it has ${stateDir}`;
}

/** The living master that a pid file names; another program may have the number by now. */
function masterIn(pidfile: string): number | undefined {
  const pid = Number(readText(pidfile).trim());
  if (!Number.isInteger(pid) || pid <= 1 || pid === process.pid) return undefined;
  const words = readText(`/proc/${pid}/cmdline`);
  return /salt-master|brine[^\0]*\0master(?:\0|$)/.test(words) ? pid : undefined;
}

/** An orderly end leaves no state; after a crash the services may still be stopping. */
function isCrashed({ stateDir }: HostClaim): boolean {
  const state = readState(stateDir);
  return state !== undefined && livingSupervisor(state) === undefined;
}

async function claimAll(wanted: HostClaim['ports'], claims: Server[]): Promise<string[]> {
  const lines: string[] = [];
  for (const { host, port } of wanted) {
    // The first port decides between two that start at once: the loser must not take others.
    if (lines.length > 0) {
      if (isListenedOn(port)) lines.push(isTaken(host, port));
      continue;
    }
    const claim = createServer((socket) => socket.destroy());
    const other = await listening(claim, { path: claimOf(host, port) });
    if (other === undefined) claims.push(claim);
    // Only listening on a port shows whether it is free.
    const look = createServer((socket) => socket.destroy());
    const failed = await listening(look, { host, port, exclusive: true });
    if (failed === undefined) await new Promise((resolve) => look.close(resolve));
    if (other?.code === 'EADDRINUSE') lines.push(isTaken(host, port));
    else if (failed !== undefined) lines.push(whyNot(host, port, failed));
    else if (other !== undefined && HAS_NAMES) lines.push(whyNot(host, port, other));
  }
  return lines;
}

/** Elsewhere the ports of two masters that start at once can not be distinguished. */
const HAS_NAMES = process.platform === 'linux';

/** A name without a file, which the system frees with the process, as it does a port (Linux). */
function claimOf(host: string, port: number): string {
  return `\0brine-master-${host}-${port}`;
}

function listening(server: Server, at: ListenOptions): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(at, () => resolve(undefined));
  });
}

function whyNot(host: string, port: number, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return isTaken(host, port);
  return `port ${port} of ${host} can not be bound: ${message}`;
}

function isTaken(host: string, port: number): string {
  const who = whoListens(port);
  return `port ${port} of ${host} is taken${who === undefined ? '' : ` by process ${who}`}`;
}

async function answeringSockets(paths: readonly string[]): Promise<string[]> {
  const answered = await Promise.all(paths.map(answers));
  return paths.filter((_, index) => answered[index]).map((path) => `${path} is served`);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const done = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(PROBE_MS, () => done(true));
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // Absent or gone: it names no process.
  }
}
