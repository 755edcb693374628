import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { connect } from 'node:net';
import { IpcError } from './errors.ts';

/** `sun_path` of Linux holds 108 bytes, the last one is NUL; longer paths fail obscurely. */
export const MAX_SOCKET_PATH_BYTES = 107;

/** How long another server may take to answer before its socket counts as left behind. */
const PROBE_MS = 500;

/** Throws {@link IpcError} SALT_IPC_PATH_TOO_LONG when no socket can have this path. */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH_BYTES) return;
  throw new IpcError(
    'SALT_IPC_PATH_TOO_LONG',
    `${path}: ${bytes} bytes, but the path of a socket holds ${MAX_SOCKET_PATH_BYTES}; ` +
      'set sock_dir to a shorter path',
  );
}

/** Gives a socket for the path that another process has bound; undefined where there is none. */
export type BoundSocket = (path: string) => Promise<object | undefined>;

/**
 * Listens on a unix socket with the file mode `mode`. A socket that a dead process left there is
 * replaced; one that still answers is not (SALT_IPC_IN_USE). A socket that the supervisor passes
 * down is used as it is, perhaps beside the process before this one.
 */
export async function listenOn(
  server: Server,
  path: string,
  mode: number,
  bound?: BoundSocket,
): Promise<void> {
  checkSocketPath(path);
  let handle = await bound?.(path);
  if (handle === undefined) {
    await clearPath(path);
    // The supervisor could not bind while the old file was there.
    handle = await bound?.(path);
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    if (handle !== undefined) return void server.listen(handle);
    // The socket file comes into being inside listen(): no other user can ever connect in between.
    const umask = process.umask(0o177);
    try {
      server.listen({ path });
    } finally {
      process.umask(umask);
    }
  });
  // One that another process bound has the mode of its time.
  chmodSync(path, mode);
}

async function clearPath(path: string): Promise<void> {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return;
  if (entry.isSocket() && (await answers(path))) {
    throw new IpcError('SALT_IPC_IN_USE', `${path}: another process serves this socket`);
  }
  unlinkSync(path);
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
