import { spawn } from 'node:child_process';
import { childEnvironment } from '@brine/environment';
import type { ServiceState } from '@brine/service/processes';

/** Variables from systemd with its address; children do not need them. */
const VARIABLES = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const;
/** Part of systemd. Node has no sockets of this kind. */
const PROGRAM = 'systemd-notify';
const SEND_MS = 10_000;
const WATCH_MIN_MS = 500;
const SHOWN_CHARS = 200;

type Environment = Record<string, string | undefined>;

/** Notifies the service manager that started a master (sd_notify(3)). */
export interface ServiceManager {
  /** False if no service manager expects messages. */
  readonly listens: boolean;
  /** The master serves. */
  ready(status: string): Promise<void>;
  /**
   * Notifies before and after `reload`, unless the master is still starting, or stops: the manager
   * would take it for serving. `reload` must not throw.
   */
  reloading(reload: () => void): Promise<void>;
  /** An ordered stop has begun. */
  stopping(): Promise<void>;
  /** Sends keep-alives while `isWell` is true. Returns a function that ends them. */
  watch(isWell: () => boolean): () => void;
}

/**
 * The service manager named by `NOTIFY_SOCKET`; without one nothing is sent. Removes its variables
 * from the environment. `warn` gets the first error of a message.
 */
export function serviceManager(env: Environment, warn: (text: string) => void): ServiceManager {
  const [socket, watchdogUs, watchdogPid] = VARIABLES.map((name) => env[name]);
  for (const name of VARIABLES) delete env[name];
  let turn = Promise.resolve();
  let isNotified = false;
  let serves = false;
  const send = (...words: readonly string[]): Promise<void> => {
    if (socket === undefined || socket === '') return Promise.resolve();
    turn = turn.then(async () => {
      const trouble = await run(words, env, socket);
      if (trouble === undefined || isNotified) return;
      isNotified = true;
      warn(`the service manager was not notified: ${trouble}`);
    });
    return turn;
  };
  const isWatched = watchdogPid === undefined || Number(watchdogPid) === process.pid;
  const everyMs = isWatched ? Number(watchdogUs ?? 0) / 2000 : 0;
  return {
    listens: socket !== undefined && socket !== '',
    ready: (status) => {
      serves = true;
      return send('READY=1', `STATUS=${status}`);
    },
    reloading: async (reload) => {
      const now = process.hrtime.bigint() / 1000n;
      if (serves) await send('RELOADING=1', `MONOTONIC_USEC=${now}`);
      reload();
      if (serves) await send('READY=1', 'STATUS=serves');
    },
    stopping: () => {
      serves = false;
      return send('STOPPING=1', 'STATUS=stopping');
    },
    watch: (isWell) => {
      if (!(everyMs > 0)) return () => undefined;
      const beat = (): void => {
        if (isWell()) void send('WATCHDOG=1');
      };
      beat();
      const timer = setInterval(beat, Math.max(WATCH_MIN_MS, everyMs));
      return () => clearInterval(timer);
    },
  };
}

/**
 * True if a restart of the whole master would help no service. A `starting` service waits for NATS
 * or PostgreSQL. The supervisor restarts a `waiting` one. A blocked one ends itself by watching its
 * loop. Only `stopped` services need the restart.
 */
export function isWell(services: readonly Pick<ServiceState, 'state'>[]): boolean {
  return services.every(({ state }) => state !== 'stopped');
}

/** Resolves with the error, after the manager has read the message. */
function run(
  words: readonly string[],
  env: Environment,
  socket: string,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM, words, {
      env: childEnvironment(env, { NOTIFY_SOCKET: socket }),
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: SEND_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(0, SHOWN_CHARS);
    });
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(undefined);
      resolve(output.trim() || `${PROGRAM} ended with ${code ?? signal ?? 'nothing'}`);
    });
  });
}
