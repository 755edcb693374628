import { hostname } from 'node:os';
import {
  ConfigError,
  type ConfigLocation,
  type LoadedConfig,
  loadMasterConfig,
  type MasterOptions,
  refusalOf,
} from '@brine/config';
import { forgetOwn, letChildrenHave } from '@brine/environment';
import { sleepUnless } from '@brine/tasks';
import { type Log, startTelemetry, type Telemetry } from '@brine/telemetry';
import { parseServiceArguments } from './arguments.ts';
import { startHealth } from './health.ts';
import { type DebugSignal, keepInspectorShut } from './inspector.ts';
import { partLevel } from './logs/log-levels.ts';
import { logOptions } from './logs/option-lines.ts';
import { watchLoop } from './loop-watch.ts';
import { Metrics } from './metrics/metrics.ts';
import { addProcessMetrics } from './metrics/process-metrics.ts';
import { applyNiceness } from './niceness.ts';
import { refusedAsRoot } from './process-user.ts';
import { answerDumps, isSuccessor, onLeaveOrder, onOrders } from './processes/succession.ts';
import { ownRelease } from './release.ts';
import { onStopSignal } from './stop-signals.ts';

/** The argument of a service's main function. */
export interface ServiceContext {
  readonly name: string;
  readonly options: MasterOptions;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly metrics: Metrics;
  /** Aborted when the service is to stop; for background work. */
  readonly signal: AbortSignal;
  /** The environment of its start; secrets are removed from that of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The answer of this service to a roll call. */
  readonly report: () => { readonly status: object };
  /** Ends the service as failed; its supervisor starts it again. For errors without a remedy. */
  readonly fail: (error: unknown) => void;
}

/** A running service, as its main function returns it. */
export interface RunningService {
  /** A successor is about to begin: release resources for one process at a time, and serve on. */
  yield?(): Promise<void>;
  /**
   * A successor serves: finish the work in progress, even if that takes minutes. Then the service
   * is closed. Without this function it is closed at once.
   */
  leave?(): Promise<void>;
  /** The predecessor has ended. */
  alone?(): void;
  /** Stops accepting, finishes the work in progress, closes. */
  close(): Promise<void>;
  /** True while it really serves. */
  ready(): boolean;
  /** The facts for `brine status` and `/status`: queue depths, counts. */
  status(): object;
}

/** A service: its name and how it starts. */
export interface Service {
  readonly name: string;
  readonly main: (context: ServiceContext) => Promise<RunningService>;
}

/** How often a starting service is asked if it is ready. */
const READY_POLL_MS = 20;

/** Exit code for an invalid configuration, which no supervisor can mend. */
export const EXIT_CONFIG = 78;

/**
 * Runs a service process from configuration to exit: options, logs and traces, health endpoint, the
 * service itself, the ready message to the supervisor. At a signal it stops these in reverse. It
 * ends the process; only tests of earlier steps use the promise.
 */
export async function runService(service: Service): Promise<void> {
  const debug = keepInspectorShut();
  const env = { ...process.env };
  const args = parseServiceArguments(process.argv.slice(2));
  const { options: read, warnings } = readOptions({ configDir: args.configDir, env });
  const options = args.logLevel ? { ...read, logLevel: args.logLevel } : read;
  const name = instanceName(service.name, env);
  // Below a supervisor `-l` is this level already.
  const logLevel = partLevel(name, options.logLevel, options.logGranularLevels);
  const telemetry = await startTelemetry({
    service: name,
    options: { ...options, logLevel },
    env,
  });
  // All readers have run. Threads, templates and children must not find the secrets.
  forgetOwn(process.env);
  letChildrenHave(process.env, options.brine.childEnvironment);
  // A supervisor logs these once, not once for each service.
  if (!isSupervised(env)) logOptions(telemetry.log, warnings);
  answerDumps(() => debug.facts());
  applyNiceness(service.name, options, telemetry.log);
  await live(service, options, telemetry, { env, debug });
}

/** Reads the options; ends the process if they are invalid. */
function readOptions(location: ConfigLocation): LoadedConfig<MasterOptions> {
  try {
    const loaded = loadMasterConfig(location);
    const refusal = refusedAsRoot(loaded.options.user) ?? refusalOf(loaded.warnings);
    if (refusal === undefined) return loaded;
    process.stderr.write(`${refusal}\n`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
  }
  process.exit(EXIT_CONFIG);
}

async function live(
  service: Service,
  options: MasterOptions,
  telemetry: Telemetry,
  { env, debug }: { readonly env: ServiceContext['env']; readonly debug: DebugSignal },
): Promise<void> {
  const { log } = telemetry;
  const name = instanceName(service.name, env);
  watchLoop(name, env);
  const stopping = new AbortController();
  const facts = factsOf(options);
  let running: RunningService | undefined;
  let leaving = false;
  const ready = (): boolean => !leaving && !stopping.signal.aborted && (running?.ready() ?? false);
  const metrics = new Metrics({ service: service.name, replica: name });
  addProcessMetrics(metrics);
  const now = () => ({ ready: ready(), leaving, status: running?.status() ?? {} });
  debug.reportBy((text, facts) => log.warn(facts, text), now);
  metrics.gaugeOf('brine_ready', '1 while the service really serves.', () => Number(ready()));
  const health = await startHealth(
    {
      ready,
      status: () => ({ name, ...facts, ...running?.status() }),
      metrics: (format) => metrics.text(format),
    },
    { host: options.brine.healthHost, port: healthPort(options, name, service.name) },
  );

  const stop = endOnce(options, telemetry, async () => {
    stopping.abort();
    await running?.close();
    await health.close();
  });
  const fail = (error: unknown): void => {
    log.fatal({ err: error }, 'failed');
    stop(1, 'failed');
  };
  onStopSignal((why) => stop(0, why), logHangUp(log));
  onOrders({
    yield: async () => running?.yield?.(),
    leave: async () => {
      log.info('a successor serves, leaving');
      leaving = true;
      await running?.leave?.();
      stop(0, 'left');
    },
    alone: async () => running?.alone?.(),
    onFailure: fail,
  });
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);

  const { signal } = stopping;
  const report = reporter({ name, ...facts }, now);
  const context = { name, options, log, telemetry, metrics, signal, env, report, fail };
  try {
    if (isSuccessor(env)) await onLeaveOrder();
    if (stopping.signal.aborted) return;
    running = await service.main(context);
  } catch (error) {
    fail(error);
    return;
  }
  await untilReady(running, stopping.signal);
  if (stopping.signal.aborted) return;
  log.info({ healthPort: health.port }, 'ready');
  process.send?.({ type: 'ready', healthPort: health.port });
}

/** The facts of a service in `/status` and at a roll call. */
function factsOf({ brine }: MasterOptions) {
  const release = ownRelease();
  return { pid: process.pid, host: brine.host, node: process.versions.node, release };
}

/** The facts of a roll call: constant and current ones. */
function reporter<Now extends { readonly status: object }>(
  facts: object,
  now: () => Now,
): () => Now {
  const startedMs = Date.now();
  return () => ({ ...facts, machine: hostname(), startedMs, nowMs: Date.now(), ...now() });
}

function logHangUp(log: Log): () => void {
  return () => log.warn('SIGHUP: options are read at the start, restart this service to read them');
}

/** Ends the process within the deadline. The first call decides the exit code and the reason. */
function endOnce(
  options: MasterOptions,
  telemetry: Telemetry,
  close: () => Promise<void>,
): (code: number, why: string) => void {
  const { log } = telemetry;
  const end = async (code: number, why: string): Promise<void> => {
    log.info({ why }, 'stopping');
    const deadline = setTimeout(() => {
      log.error({ deadlineS: options.brine.stopDeadline }, 'not stopped in time, leaving');
      process.exit(1);
    }, options.brine.stopDeadline * 1000);
    let exitCode = code;
    try {
      await close();
    } catch (error) {
      log.error({ err: error }, 'stop failed');
      exitCode = 1;
    }
    await telemetry.shutdown();
    clearTimeout(deadline);
    process.exit(exitCode);
  };
  let ending: Promise<void> | undefined;
  return (code, why) => void (ending ??= end(code, why));
}

async function untilReady(running: RunningService, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !running.ready()) await sleepUnless(READY_POLL_MS, signal);
}

/** The supervisor names each of several processes of one service. */
function instanceName(name: string, env: ServiceContext['env']): string {
  return env['BRINE_INSTANCE'] || name;
}

function isSupervised(env: ServiceContext['env']): boolean {
  return env['BRINE_SUPERVISED'] === '1';
}

function healthPort(options: MasterOptions, instance: string, service: string): number {
  const ports = options.brine.healthPorts;
  for (const name of [instance, service]) {
    const port = Object.hasOwn(ports, name) ? ports[name] : undefined;
    if (typeof port === 'number') return port;
  }
  return options.brine.healthPort;
}
