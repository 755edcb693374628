import { lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dialectOf, type SocketDialect } from '@brine/cachedir';
import type { ReaderSocket } from '@brine/host';
import {
  type BoundSocket,
  checkSocketPath,
  EventPublisher,
  EventReceiver,
  IpcError,
} from '@brine/ipc';
import type { Trouble } from '@brine/tasks';

/** Names below sock_dir (Salt: salt/utils/event.py, salt/transport/zeromq.py). */
const PUB = 'master_event_pub.ipc';
const PULL = 'master_event_pull.ipc';
/** Stock tools only check that these exist: `salt` the first, salt-api both. */
const MARKERS = ['publish_pull.ipc', 'workers.ipc'];

const LEAVE_LOOK_MS = 100;

/** Directories below sock_dir, each with the Salt version of its tools. */
const FURTHER = [
  ['bare', '3008.2'],
  ['prefixed', '3006.26'],
  ['3007', '3007.13'],
] as const;

/** The options of the sockets of a host. */
export interface HostSocketsOptions {
  readonly sockDir: string;
  /** The framing of the sockets in sock_dir itself. */
  readonly dialect: SocketDialect;
  /** True with publisher_acl or external_auth: then the master's group may read events. */
  readonly readableByGroup: boolean;
  readonly onEvent: (event: Uint8Array) => Promise<void>;
  readonly onTrouble: Trouble;
  /** Sockets that outlive this process, if its supervisor keeps them open. */
  readonly socket?: BoundSocket;
}

/**
 * The sockets of one host. Those in sock_dir fit the Salt installed there. Tools of other versions
 * get complete sets: `bare/`, `prefixed/`, and `3007/`.
 */
export class HostSockets {
  readonly readerSockets: readonly ReaderSocket[];
  readonly #receivers: readonly EventReceiver[];

  private constructor(sockets: readonly ReaderSocket[], receivers: readonly EventReceiver[]) {
    this.readerSockets = sockets;
    this.#receivers = receivers;
  }

  /** Opens all sockets; if one fails, the open ones are closed again. Throws IpcError. */
  static async open(options: HostSocketsOptions): Promise<HostSockets> {
    const sockets: ReaderSocket[] = [];
    const receivers: EventReceiver[] = [];
    const opened = new HostSockets(sockets, receivers);
    try {
      for (const { dir, dialect } of directories(options)) {
        await mkdir(dir, { recursive: true, mode: 0o711 });
        const { onEvent, socket } = options;
        sockets.push(await openReaders(dir, dialect, options));
        const path = join(dir, PULL);
        receivers.push(
          await EventReceiver.listen({ path, onEvent, ...(socket ? { socket } : {}) }),
        );
        for (const name of MARKERS) await writeMarker(join(dir, name));
      }
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  status(): object {
    const readers = this.readerSockets.map(({ publisher }) => ({
      path: publisher.path,
      framing: publisher.framing,
      ...publisher.stats(),
    }));
    return { readers, writers: this.#receivers.map((one) => ({ path: one.path, ...one.stats() })) };
  }

  /** Tools that are connected. */
  get connected(): number {
    const readers = this.readerSockets.map(({ publisher }) => publisher.readers);
    const writers = this.#receivers.map((receiver) => receiver.stats().writers);
    return [...readers, ...writers].reduce((sum, one) => sum + one, 0);
  }

  /** Takes no more connections; resolves when the last connected tool has hung up. */
  async left(signal: AbortSignal): Promise<void> {
    for (const { publisher } of this.readerSockets) publisher.stopListening();
    for (const receiver of this.#receivers) receiver.stopListening();
    while (this.connected > 0 && !signal.aborted) {
      await sleep(LEAVE_LOOK_MS);
    }
  }

  async close(): Promise<void> {
    await Promise.all([
      ...this.#receivers.map((receiver) => receiver.close()),
      ...this.readerSockets.map(({ publisher }) => publisher.close()),
    ]);
  }
}

interface Place {
  readonly dir: string;
  readonly dialect: SocketDialect;
}

function directories(options: HostSocketsOptions): readonly Place[] {
  const { sockDir, dialect } = options;
  const places: Place[] = [{ dir: sockDir, dialect }];
  for (const [name, version] of FURTHER) {
    const dir = join(sockDir, name);
    try {
      checkSocketPath(join(dir, PULL));
      places.push({ dir, dialect: dialectOf(version) });
    } catch (error) {
      if (!(error instanceof IpcError)) throw error;
      // The main sockets work, and so does the master; only this convenience fails.
      options.onTrouble(`no sockets for other Salt versions: ${error.message}`);
    }
  }
  return places;
}

async function openReaders(
  dir: string,
  { framing, zone, wakes }: SocketDialect,
  { readableByGroup, socket }: HostSocketsOptions,
): Promise<ReaderSocket> {
  const mode = readableByGroup ? 0o660 : 0o600;
  const path = join(dir, PUB);
  const publisher = await EventPublisher.listen({
    path,
    framing,
    mode,
    ...(socket ? { socket } : {}),
  });
  return { publisher, zone, wakes };
}

async function writeMarker(path: string): Promise<void> {
  // A stock master that ended left its own socket of this name, which cannot be opened.
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() === true) await rm(path);
  await writeFile(path, '', { flag: 'a', mode: 0o600 });
}
