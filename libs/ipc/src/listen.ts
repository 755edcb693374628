import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import { connect } from 'node:net';
import { IpcError } from './errors.ts';

/** `sun_path` of Linux has 108 bytes, the last one is NUL; longer paths fail obscurely. */
export const MAX_SOCKET_PATH_BYTES = 107;

/** How long another server may take to answer before its socket counts as left behind. */
const PROBE_MS = 500;

/** Throws {@link IpcError} SALT_IPC_PATH_TOO_LONG when no socket can have this path. */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes <= MAX_SOCKET_PATH_BYTES) return;
  throw new IpcError(
    'SALT_IPC_PATH_TOO_LONG',
    `${path}: ${bytes} bytes, but a socket's path may have ${MAX_SOCKET_PATH_BYTES}; ` +
      'set sock_dir to a shorter path',
  );
}

/** Returns a socket for the path that another process has bound; undefined if it has not. */
export type BoundSocket = (path: string) => Promise<object | undefined>;

/**
 * Listens on a unix socket with the file mode `mode`. A socket that a dead process left there is
 * replaced; a socket that still answers is not (SALT_IPC_IN_USE). A socket from the supervisor is
 * used as it is, perhaps beside the previous process.
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
    // listen() creates the file with this mask, so no other user can ever connect in between.
    const umask = process.umask(0o177);
    try {
      server.listen({ path });
    } finally {
      process.umask(umask);
    }
  });
  // A socket that another process bound still has the mode of that time.
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
