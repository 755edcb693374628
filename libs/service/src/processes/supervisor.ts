import type { Log } from '@brine/telemetry';
import type { LogSource } from '../logs/log-lines.ts';
import { BoundPorts } from './bound-ports.ts';
import { ChildService, type ReplaceTimes, type ServiceState } from './child-service.ts';
import type { ProcessDump, ServiceSpec } from './service-process.ts';
import { removeState, type RollingState, writeState } from './state-file.ts';

/** A stage that is not ready by then does not block the next ones. */
const STAGE_TIMEOUT_MS = 30_000;

/** A longer start counts as failed; a command may wait for returns as long as `leaveMs`. */
const REPLACE_MS = { readyMs: 60_000, yieldMs: 10_000, leaveMs: 600_000 } as const;

/** Options of superviseServices beside the services. */
export interface SupervisorOptions {
  readonly log: Log;
  /** Gets the lines that the services write. */
  readonly onLine: (source: LogSource, line: string) => void;
  /** Where services.json is written. */
  readonly stateDir: string;
  /** Longest time a service is given to stop. */
  readonly stopDeadlineMs: number;
  /** Times of a rolling restart; for tests. */
  readonly replaceTimes?: Partial<ReplaceTimes>;
}

/** A service and its report about itself; without `dump` it has no process. */
export interface ServiceDump extends ServiceState {
  readonly dump?: ProcessDump;
}

/** Running services. */
export interface Supervisor {
  /** Resolves when every service has been ready once, or the stage's time is over. */
  readonly started: Promise<void>;
  ready(): boolean;
  services(): readonly ServiceState[];
  /**
   * Replaces the services one after the other, in the order of their start, each once its successor
   * serves. Rejects if one does not come to serve, and leaves the others as they are. While a
   * restart runs, returns its promise.
   */
  roll(): Promise<void>;
  /**
   * Sets the specs of the next processes: services of the same names, with other arguments or
   * another environment. Running processes continue unchanged.
   */
  use(specs: readonly ServiceSpec[]): void;
  /** The report of each service about itself, if it answers within the time, in ms. */
  dump(timeoutMs: number): Promise<readonly ServiceDump[]>;
  /** Stops the services, the last started first. Idempotent; never rejects. */
  stop(): Promise<void>;
  /** Ends all services at once. */
  kill(): void;
}

/**
 * Starts services in the order of their stages and keeps them running: a service that ends is
 * started again, at once the first time. The caller decides when to stop. Throws if the state
 * directory can not be written.
 */
export function superviseServices(
  specs: readonly ServiceSpec[],
  options: SupervisorOptions,
): Supervisor {
  const { log, onLine, stateDir } = options;
  const startedAt = new Date().toISOString();
  let stopping: Promise<void> | undefined;
  let failedWrites = 0;
  let rolling: RollingState | undefined;
  let roll: Promise<void> | undefined;
  const ports = new BoundPorts();

  const save = (): void => {
    const services = children.map((child) => child.state);
    const state = { pid: process.pid, startedAt, services, ...(rolling ? { rolling } : {}) };
    try {
      writeState(stateDir, state);
    } catch (error) {
      // A full disk must not end the services; `brine status` is stale until there is room.
      if (failedWrites === 0) log.error({ err: error }, 'services.json can not be written');
      failedWrites += 1;
    }
  };
  writeState(stateDir, { pid: process.pid, startedAt, services: [] });
  const events = { onLine, onChange: save };
  const children = specs.map((spec) => new ChildService(spec, log, ports, events));
  const note = (state: RollingState): void => {
    rolling = state;
    save();
  };
  const { replaceTimes, stopDeadlineMs: stopMs } = options;
  const times: ReplaceTimes = { ...REPLACE_MS, stopMs, ...replaceTimes };
  const rollAll = async (): Promise<void> => {
    const number = (rolling?.number ?? 0) + 1;
    for (const child of stagesOf(children).flat()) {
      const service = child.state.name;
      note({ number, state: 'running', service });
      try {
        await child.replace(times);
        log.info({ name: service }, 'service replaced');
      } catch (error) {
        log.error({ err: error, name: service }, 'service not replaced, the restart ends here');
        note({ number, state: 'failed', service, error: (error as Error).message });
        throw error;
      }
    }
    note({ number, state: 'done' });
  };

  const stop = async (): Promise<void> => {
    for (const stage of stagesOf(children).toReversed()) {
      await Promise.all(stage.map((child) => child.stop(options.stopDeadlineMs)));
    }
    ports.close();
    removeState(stateDir);
  };

  return {
    started: startStages(children, log, () => stopping !== undefined),
    ready: () => children.every((child) => child.state.state === 'ready'),
    services: () => children.map((child) => child.state),
    roll: () => (roll ??= rollAll().finally(() => (roll = undefined))),
    use: (next) => children.forEach((child) => child.use(next)),
    dump: (timeoutMs) => Promise.all(children.map((child) => dumpOf(child, timeoutMs))),
    stop: () => (stopping ??= stop()),
    kill: () => children.forEach((child) => child.kill()),
  };
}

async function dumpOf(child: ChildService, timeoutMs: number): Promise<ServiceDump> {
  const dump = await child.dump(timeoutMs);
  return { ...child.state, ...(dump === undefined ? {} : { dump }) };
}

async function startStages(
  children: readonly ChildService[],
  log: Log,
  stopping: () => boolean,
): Promise<void> {
  for (const stage of stagesOf(children)) {
    if (stopping()) return;
    for (const child of stage) child.start();
    const ready = Promise.all(stage.map((child) => child.untilReady()));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), STAGE_TIMEOUT_MS);
    });
    const outcome = await Promise.race([ready, late]);
    clearTimeout(timer);
    if (outcome === 'late') {
      const names = stage.map((child) => child.state).filter(({ state }) => state !== 'ready');
      log.warn({ names: names.map(({ name }) => name) }, 'not ready yet, starting the others');
    }
  }
}

function stagesOf(children: readonly ChildService[]): ChildService[][] {
  const stages = new Map<number, ChildService[]>();
  for (const child of children) {
    stages.set(child.stage, [...(stages.get(child.stage) ?? []), child]);
  }
  return [...stages.entries()].sort(([a], [b]) => a - b).map(([, stage]) => stage);
}
