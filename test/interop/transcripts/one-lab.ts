import { createServer, type Server } from 'node:net';
import { until } from '@brine/testing/waits';

/** Longer than the labs before it may take. */
const WAIT_MS = 5_000_000;
/** A name and no file: the kernel gives it back when the process ends. */
const TURN = '\0brine-transcripts-lab';

/**
 * Waits until no other process of this host runs a lab. Beside a second one the minions of a slow
 * machine would answer too late. Gives what ends the turn.
 */
export async function takeTurn(): Promise<() => void> {
  const held = await until('no other lab runs on this host', listening, { withinMs: WAIT_MS });
  return () => void held.close();
}

/** Undefined where another process has it. */
function listening(): Promise<Server | undefined> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(TURN, () => resolve(server)).unref();
  });
}
