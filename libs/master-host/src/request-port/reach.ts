import { connect } from 'node:net';

const CONNECT_MS = 3_000;

/** The reason why a TCP connection failed; undefined on success. Sends nothing. */
export function reach(server: {
  readonly host: string;
  readonly port: number;
}): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...server, timeout: CONNECT_MS });
    const end = (why: string | undefined): void => {
      socket.destroy();
      resolve(why);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end(`no answer within ${CONNECT_MS / 1000} s`));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}
