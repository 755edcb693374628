import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as net from 'node:net';

/** A bound socket, as the system's own handle. This process accepts no connection on it. */
interface BoundHandle {
  getsockname(out: { port?: number }): number;
  close(): void;
}

/** The function of Node's cluster module for shared sockets: bound, and not yet listened on. */
type CreateServerHandle = (
  host: string,
  port: number,
  addressType: 4 | 6 | -1,
) => BoundHandle | number | undefined;

/** A service's request to its supervisor: an address, or the path of a socket. */
interface PortRequest {
  readonly type: 'port';
  readonly host: string;
  /** {@link OF_PATH} for a path. */
  readonly port: number;
}

/** Node marks the address of a handle as the path of a socket by this port. */
const OF_PATH = -1;
/** Ports of one supervisor: publisher, gateway, health endpoints, event sockets. */
const MAX_PORTS = 64;
/** A supervisor answers within milliseconds; a stopped one must not block a service. */
const ANSWER_MS = 5_000;
/** Set for a service whose supervisor binds ports. */
const BOUND_PORTS = 'BRINE_HELD_PORTS';
/** Read once: a service removes such variables at its start. */
const HAS_BOUND_PORTS = process.env[BOUND_PORTS] === '1';

/**
 * The ports and sockets of a host. The supervisor binds them and its services listen on them: two
 * processes may serve one port while the second takes over from the first. While no service
 * listens, clients wait in the system's queue instead of being refused.
 */
export class BoundPorts {
  readonly #handles = new Map<string, BoundHandle>();

  /** Added to the environment of each service. */
  readonly env: Readonly<Record<string, string>> = { [BOUND_PORTS]: '1' };

  /** Answers a service that asks for a port; false if the message asks for something else. */
  answer(child: ChildProcess, message: unknown): boolean {
    if (!isPortRequest(message)) return false;
    const { host, port } = message;
    const handle = this.#take(host, port);
    if (!child.connected) return true;
    // A raw handle: a `net.Server` would accept connections in this process too.
    child.send({ type: 'port', host, port }, handle as unknown as net.Server | undefined);
    return true;
  }

  close(): void {
    for (const handle of this.#handles.values()) handle.close();
    this.#handles.clear();
  }

  #take(host: string, port: number): BoundHandle | undefined {
    const name = `${host} ${port}`;
    const bound = this.#handles.get(name);
    // A socket whose file was removed can not be reached.
    if (bound !== undefined && (port !== OF_PATH || existsSync(host))) return bound;
    bound?.close();
    this.#handles.delete(name);
    if (this.#handles.size >= MAX_PORTS) return undefined;
    const made = bind(host, port);
    if (made !== undefined) this.#handles.set(name, made);
    return made;
  }
}

/**
 * The port that the supervisor of this process has bound, to listen on. Undefined if it has bound
 * none, or can not: then listening on the address throws the reason.
 */
export async function boundPort(host: string, port: number): Promise<object | undefined> {
  return port === 0 ? undefined : askForHandle(host, port);
}

/** As {@link boundPort} for the path of a socket; only its owner may connect. */
export async function boundSocket(path: string): Promise<object | undefined> {
  return askForHandle(path, OF_PATH);
}

async function askForHandle(host: string, port: number): Promise<object | undefined> {
  if (process.send === undefined || !HAS_BOUND_PORTS) return undefined;
  return new Promise((resolve) => {
    const done = (handle: unknown): void => {
      clearTimeout(timer);
      process.off('message', take);
      resolve(typeof handle === 'object' && handle !== null ? handle : undefined);
    };
    const take = (message: unknown, handle: unknown): void => {
      if (isPortRequest(message) && message.host === host && message.port === port) done(handle);
    };
    const timer = setTimeout(done, ANSWER_MS, undefined);
    process.on('message', take);
    process.send?.({ type: 'port', host, port } satisfies PortRequest);
  });
}

function bind(host: string, port: number): BoundHandle | undefined {
  const create = (net as unknown as { readonly _createServerHandle?: CreateServerHandle })
    ._createServerHandle;
  if (create === undefined) return undefined; // another Node: each service binds for itself
  if (port === OF_PATH) {
    const umask = process.umask(0o177);
    try {
      const socket = create(host, OF_PATH, OF_PATH);
      return typeof socket === 'object' ? socket : undefined;
    } finally {
      process.umask(umask);
    }
  }
  const family = net.isIP(host);
  // Resolving names is left to the service that listens.
  if (family === 0) return undefined;
  const made = create(host, port, family === 6 ? 6 : 4);
  if (typeof made !== 'object') return undefined;
  // libuv reports a taken port only later, and would then listen on any other (Node: lib/net.js).
  const bound: { port?: number } = {};
  if (made.getsockname(bound) === 0 && bound.port === port) return made;
  made.close();
  return undefined;
}

function isPortRequest(message: unknown): message is PortRequest {
  if (typeof message !== 'object' || message === null) return false;
  const { type, host, port } = message as Record<string, unknown>;
  const isPort = Number.isInteger(port) && Number(port) >= OF_PATH && port !== 0;
  return type === 'port' && typeof host === 'string' && isPort;
}
