import { rmSync } from 'node:fs';
import type { Log } from '@brine/telemetry';
import { ChildService, type ServiceSpec, type ServiceState } from './child-service.ts';
import type { LogSource } from './log-lines.ts';
import { removeState, writePidfile, writeState } from './state-file.ts';

/** A stage that is not ready by then does not keep the next ones from starting. */
const STAGE_TIMEOUT_MS = 30_000;

/** What superviseServices needs beside the services. */
export interface SupervisorOptions {
  readonly log: Log;
  /** Gets the lines that the services write. */
  readonly onLine: (source: LogSource, line: string) => void;
  /** Where services.json is written. */
  readonly stateDir: string;
  readonly pidfile?: string | undefined;
  /** Longest time a service is given to stop. */
  readonly stopDeadlineMs: number;
}

/** Running services. */
export interface Supervisor {
  /** Resolves when every service has been ready once, or the stage's time is over. */
  readonly started: Promise<void>;
  ready(): boolean;
  services(): readonly ServiceState[];
  /** Stops the services, the last started first. Idempotent; never rejects. */
  stop(): Promise<void>;
  /** Ends all services at once. */
  kill(): void;
}

/**
 * Starts services in the order of their stages and keeps them running: one that ends is started
 * again, at once the first time. The caller decides when to stop.
 * Throws where the state directory or the pid file can not be written.
 */
export function superviseServices(
  specs: readonly ServiceSpec[],
  options: SupervisorOptions,
): Supervisor {
  const { log, onLine, stateDir } = options;
  const startedAt = new Date().toISOString();
  let stopping: Promise<void> | undefined;
  let failedWrites = 0;

  const save = (): void => {
    const state = { pid: process.pid, startedAt, services: children.map((child) => child.state) };
    try {
      writeState(stateDir, state);
    } catch (error) {
      // A full disk must not take the services down; `brine status` is stale until it is mended.
      if (failedWrites === 0) log.error({ err: error }, 'services.json can not be written');
      failedWrites += 1;
    }
  };
  writeState(stateDir, { pid: process.pid, startedAt, services: [] });
  if (options.pidfile) writePidfile(options.pidfile);
  const children = specs.map((spec) => new ChildService(spec, log, { onLine, onChange: save }));

  const stop = async (): Promise<void> => {
    for (const stage of stagesOf(children).toReversed()) {
      await Promise.all(stage.map((child) => child.stop(options.stopDeadlineMs)));
    }
    removeState(stateDir);
    if (options.pidfile) rmSync(options.pidfile, { force: true });
  };

  return {
    started: startStages(children, log, () => stopping !== undefined),
    ready: () => children.every((child) => child.state.state === 'ready'),
    services: () => children.map((child) => child.state),
    stop: () => (stopping ??= stop()),
    kill: () => children.forEach((child) => child.kill()),
  };
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
