import { spawn } from 'node:child_process';
import { childEnvironment } from '@brine/environment';
import type { ServiceState } from '@brine/service/processes';

/** Variables by which systemd tells a service where it listens; children have no use for them. */
const VARIABLES = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const;
/** Of every host with systemd. Node has no sockets of this kind. */
const PROGRAM = 'systemd-notify';
const SEND_MS = 10_000;
const WATCH_MIN_MS = 500;
const SHOWN_CHARS = 200;

type Environment = Record<string, string | undefined>;

/** How a master answers to the service manager that started it (sd_notify(3)). */
export interface ServiceManager {
  /** False where no service manager waits for words. */
  readonly listens: boolean;
  /** It serves. */
  ready(status: string): Promise<void>;
  /**
   * Tells before and after `reload`, unless the master is still starting, or stops: it would be
   * taken for one that serves. `reload` must not throw.
   */
  reloading(reload: () => void): Promise<void>;
  /** An ordered stop has begun. */
  stopping(): Promise<void>;
  /** Tells again and again that all is well, while it is. Returns what ends that. */
  watch(isWell: () => boolean): () => void;
}

/**
 * The service manager of this process, where `NOTIFY_SOCKET` names one; else nothing is told. Its
 * variables are taken out of the environment. `tell` gets what keeps a message away, once.
 */
export function serviceManager(env: Environment, warn: (text: string) => void): ServiceManager {
  const [socket, watchdogUs, watchdogPid] = VARIABLES.map((name) => env[name]);
  for (const name of VARIABLES) delete env[name];
  let turn = Promise.resolve();
  let isTold = false;
  let serves = false;
  const send = (...words: readonly string[]): Promise<void> => {
    if (socket === undefined || socket === '') return Promise.resolve();
    turn = turn.then(async () => {
      const trouble = await run(words, env, socket);
      if (trouble === undefined || isTold) return;
      isTold = true;
      warn(`the service manager does not hear: ${trouble}`);
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
 * Whether a new start of the whole master would help none of its services. One that is `starting`
 * waits for NATS or PostgreSQL. One that is `waiting` is started again by the supervisor. One that
 * is blocked is ended by the watch of its own loop. `stopped` services have no such help.
 */
export function isWell(services: readonly Pick<ServiceState, 'state'>[]): boolean {
  return services.every(({ state }) => state !== 'stopped');
}

/** Resolves with what went wrong. It waits until the manager has read the message. */
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
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(0, SHOWN_CHARS);
    });
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(undefined);
      resolve(said.trim() || `${PROGRAM} ended with ${code ?? signal ?? 'nothing'}`);
    });
  });
}
