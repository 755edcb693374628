import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type LogLevel,
  type MasterOptions,
  refusalOf,
} from '@brine/config';
import {
  type DebugSignal,
  type HealthServer,
  keepInspectorShut,
  LogFormatError,
  logOptions,
  type LogOutput,
  openLogOutput,
  refusedAsRoot,
  startJoinedMetrics,
} from '@brine/service';
import {
  type ClaimedHost,
  HostTakenError,
  masterServices,
  readState,
  superviseServices,
  type Supervisor,
} from '@brine/service/processes';
import { createLog, type Log } from '@brine/telemetry';
import { EXIT } from '../exit-codes.ts';
import { BRINE_VERSION } from '../options/common-groups.ts';
import { claimMaster } from './claim.ts';
import { type Neighbour, openNats, openPostgres } from './neighbours.ts';

/** How long `-d` waits until the master has its pid file. */
const DAEMON_WAIT_MS = 30_000;
const APPS = fileURLToPath(new URL('../../../', import.meta.url));

/** What `brine master` takes. */
export interface MasterArguments {
  readonly configDir?: string | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly logFile?: string | undefined;
  readonly logLevelLogfile?: LogLevel | undefined;
  readonly daemon?: boolean | undefined;
  readonly pidFile?: string | undefined;
}

/**
 * `brine master`: runs all services on this host, with NATS and PostgreSQL of its own where none
 * are named, until a signal. Resolves with the exit code.
 */
export async function runMaster(args: MasterArguments): Promise<number> {
  const debug = keepInspectorShut();
  let loaded: LoadedConfig<MasterOptions>;
  try {
    loaded = readOptions(args);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    tell(`[ERROR   ] ${error.message}`);
    return EXIT.generic;
  }
  const { options, warnings } = loaded;
  // Salt's words, which it writes before there is a log.
  for (const { kind, text } of warnings) if (kind === 'missing') tell(text);
  const refusal = refusedAsRoot(options.user) ?? refusalOf(warnings);
  if (refusal !== undefined) return failed(refusal);
  const missing = masterServices(
    settingsOf(
      options,
      () => '',
      '',
      () => 'quiet',
    ),
  ).find(({ entry }) => !existsSync(entry));
  if (missing) return failed(`${missing.name} is not built: run \`npm run build\` first`);
  let claimed: ClaimedHost;
  try {
    claimed = await claimMaster(options);
  } catch (error) {
    if (!(error instanceof HostTakenError)) throw error;
    tell(`brine master: ${error.message}`);
    return EXIT.portsTaken;
  }
  let output: LogOutput;
  try {
    const console = (text: string): void => void process.stderr.write(text);
    output = openLogOutput(options, console, (text) => tell(`[WARNING ] ${text}`));
  } catch (error) {
    claimed.release();
    if (!(error instanceof LogFormatError)) throw error;
    return failed(error.message);
  }
  if (args.daemon !== true) return serve(loaded, output, { claimed, debug });
  // The process in the background claims the host for itself.
  claimed.release();
  return startDaemon(args, options);
}

/** The options of the file, with those of the command line before them. Throws ConfigError. */
function readOptions(args: MasterArguments): LoadedConfig<MasterOptions> {
  const { options, warnings } = loadMasterConfig({ configDir: args.configDir });
  const given = {
    logLevel: args.logLevel ?? options.logLevel,
    logFile: args.logFile ?? options.logFile,
    logLevelLogfile: args.logLevelLogfile ?? options.logLevelLogfile,
    pidfile: args.pidFile === undefined ? options.pidfile : resolve(args.pidFile),
  };
  return { options: { ...options, ...given }, warnings };
}

async function serve(
  { options, warnings }: LoadedConfig<MasterOptions>,
  output: LogOutput,
  { claimed, debug }: { readonly claimed: ClaimedHost; readonly debug: DebugSignal },
): Promise<number> {
  const source = { service: 'master', pid: process.pid };
  const write = (line: string): void => output.write(source, line.trimEnd());
  const level = output.levelOf(source.service);
  const log = createLog({ service: source.service, level, destination: { write } });
  logOptions(log, warnings);
  const stopping = stopSignals();
  const neighbours: Neighbour<unknown>[] = [];
  let supervisor: Supervisor | undefined;
  debug.tellBy(
    (text, facts) => log.warn(facts, text),
    () => ({ services: supervisor?.services() }),
  );
  let metrics: HealthServer | undefined;
  try {
    // Others may pass through: under root, PostgreSQL runs as a user of its own.
    mkdirSync(options.brine.stateDir, { recursive: true, mode: 0o711 });
    const [nats, postgres] = await openBoth(options, log, neighbours);
    if (!stopping.signal.aborted) {
      supervisor = superviseServices(
        masterServices(settingsOf(options, nats.value, postgres.value, output.levelOf)),
        {
          log,
          onLine: output.write,
          stateDir: options.brine.stateDir,
          pidfile: options.pidfile,
          leavePort: (port) => claimed.leavePort(port),
          stopDeadlineMs: options.brine.stopDeadline * 1000 + 1000,
        },
      );
      stopping.onForce(() => supervisor?.kill());
      // The log and services.json say how it went.
      process.on('SIGUSR2', () => void supervisor?.roll().catch(() => undefined));
      metrics = await serveMetrics(options, supervisor, log);
      void supervisor.started.then(() => {
        if (!stopping.signal.aborted) log.info({ id: options.id }, 'the master serves');
      });
    }
    await stopping.first;
    return EXIT.ok;
  } catch (error) {
    log.fatal({ err: error }, 'the master does not start');
    tell(`brine master: ${(error as Error).message}`);
    return EXIT.generic;
  } finally {
    await supervisor?.stop();
    await metrics?.close();
    for (const neighbour of neighbours.toReversed()) await neighbour.stop();
    claimed.release();
    log.info('stopped');
  }
}

/** The joined endpoint, if configured. Jobs matter more: a taken port only leads to a log line. */
async function serveMetrics(
  options: MasterOptions,
  supervisor: Supervisor,
  log: Log,
): Promise<HealthServer | undefined> {
  const { metrics, healthHost } = options.brine;
  if (metrics.port === 0) return undefined;
  try {
    const server = await startJoinedMetrics({
      services: () => supervisor.services(),
      ready: () => supervisor.ready(),
      healthHost,
      ...metrics,
      version: BRINE_VERSION,
    });
    log.info({ host: metrics.host, port: server.port }, 'metrics are served');
    return server;
  } catch (error) {
    log.error({ err: error, port: metrics.port }, 'metrics are not served: is the port taken?');
    return undefined;
  }
}

/** Opens both at once. The caller stops what has started where the other fails. */
async function openBoth(
  options: MasterOptions,
  log: Log,
  opened: Neighbour<unknown>[],
): Promise<[Awaited<ReturnType<typeof openNats>>, Awaited<ReturnType<typeof openPostgres>>]> {
  const keep = <T extends Neighbour<unknown>>(neighbour: T): T => {
    opened.push(neighbour);
    return neighbour;
  };
  const nats = openNats(options, log).then(keep);
  const postgres = openPostgres(options, log).then(keep);
  await Promise.allSettled([nats, postgres]);
  return [await nats, await postgres];
}

function settingsOf(
  options: MasterOptions,
  natsUrl: Parameters<typeof masterServices>[0]['natsUrl'],
  databaseUrl: string,
  logLevel: LogOutput['levelOf'],
): Parameters<typeof masterServices>[0] {
  return {
    appsDir: APPS,
    configDir: options.configDir,
    workers: options.brine.workers,
    logLevel,
    natsUrl,
    databaseUrl,
    host: options.brine.host,
  };
}

/** The first signal asks for an ordered stop; the second ends everything at once. */
function stopSignals() {
  const controller = new AbortController();
  let force = (): void => undefined;
  let resolveFirst = (): void => undefined;
  const first = new Promise<void>((resolve) => (resolveFirst = resolve));
  const onSignal = (): void => {
    if (controller.signal.aborted) {
      force();
      process.exit(EXIT.forced);
    }
    controller.abort();
    resolveFirst();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal);
  return { first, signal: controller.signal, onForce: (kill: () => void) => void (force = kill) };
}

/** `-d`: the same command in a session of its own; resolves when the command has begun to run. */
async function startDaemon(args: MasterArguments, options: MasterOptions): Promise<number> {
  const program = process.argv[1] ?? '';
  const given = [
    ['-l', args.logLevel],
    ['--log-file', args.logFile],
    ['--log-file-level', args.logLevelLogfile],
    ['--pid-file', args.pidFile],
  ].flatMap(([name = '', value]) => (value === undefined ? [] : [name, value]));
  const child = spawn(
    process.execPath,
    [...process.execArgv, program, 'master', '-c', options.configDir, ...given],
    { detached: true, stdio: 'ignore' },
  );
  let ended = false;
  child.once('exit', () => (ended = true));
  const until = Date.now() + DAEMON_WAIT_MS;
  while (!ended && Date.now() < until) {
    if (readState(options.brine.stateDir)?.pid === child.pid) {
      child.unref();
      return EXIT.ok;
    }
    await sleep(50);
  }
  if (!ended) child.unref();
  if (child.exitCode === EXIT.portsTaken) {
    tell('brine master: not started, another master has taken its ports meanwhile');
    return EXIT.portsTaken;
  }
  return ended ? failed(`the master ended at once; see ${options.logFile}`) : EXIT.ok;
}

function failed(text: string): number {
  tell(`brine master: ${text}`);
  return EXIT.generic;
}

function tell(text: string): void {
  process.stderr.write(`${text}\n`);
}
