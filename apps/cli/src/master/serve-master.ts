import {
  type LoadedConfig,
  type LogLevel,
  type MasterOptions,
  refusalOf,
  SDB_VARIABLE,
} from '@brine/config';
import { type Neighbour, openNats, openPostgres } from '@brine/master-host/servers';
import { loadOrCreateMasterKeys, masterKeyOptions } from '@brine/pki';
import {
  type DebugSignal,
  endedOn,
  type HealthServer,
  logOptions,
  type LogOutput,
  Releasers,
  startJoinedMetrics,
} from '@brine/service';
import {
  type ClaimedHost,
  masterServices,
  removePidfile,
  superviseServices,
  type Supervisor,
  writePidfile,
} from '@brine/service/processes';
import { createLog, type Log } from '@brine/telemetry';
import { consoleAddresses } from '../console-addresses.ts';
import { EXIT } from '../exit-codes.ts';
import { BRINE_VERSION } from '../options/common-groups.ts';
import { type Account, becomeAccount } from './account.ts';
import { writeDebugFile } from './debug-file.ts';
import { openFilesWarning, raiseOpenFiles } from './open-files.ts';
import { changedOptions } from './reload.ts';
import { isWell, type ServiceManager, serviceManager } from './service-manager.ts';
import { servicesOf } from './services-of.ts';
import { showConsole } from './show-console.ts';
import { StartRefusal } from './start-refusal.ts';
import { type StopSignals, stopSignals } from './stop-signals.ts';

/** Shorter keys can be broken today. */
const BITS_MIN = 2048;
/** Timeout for dumps of services, ms: a blocked service is ended after 5 s. */
const DUMP_MS = 10_000;

/** A host that is ready for a master. */
export interface PreparedMaster {
  readonly loaded: LoadedConfig<MasterOptions>;
  /** Reads the configuration again. Throws ConfigError. */
  readonly reread: () => LoadedConfig<MasterOptions>;
  readonly output: LogOutput;
  readonly claimed: ClaimedHost;
  readonly account: Account;
  readonly debug: DebugSignal;
  readonly print: (text: string) => void;
}

/** State shared by the parts of a running master. */
interface Shared {
  readonly log: Log;
  readonly manager: ServiceManager;
  readonly stopping: StopSignals;
  readonly releasers: Releasers;
}

/** Runs the services of a master until a signal, and releases everything. Returns the exit code. */
export async function serveMaster(prepared: PreparedMaster): Promise<number> {
  const { loaded, output, claimed, print, debug } = prepared;
  const { options } = loaded;
  const log = logOf(output);
  const manager = serviceManager(process.env, (text) => log.warn(text));
  const releasers = new Releasers();
  releasers.add(() => output.close());
  releasers.add(() => log.info('stopped'));
  releasers.add(() => claimed.release());
  releasers.add(() => removePidfile(options.pidfile));
  const shared: Shared = { log, manager, stopping: stopSignals(), releasers };
  let supervisor: Supervisor | undefined;
  let renew = (_next: LoadedConfig<MasterOptions>): void => undefined;
  process.on(
    'SIGHUP',
    reloader(prepared, shared, (next) => renew(next)),
  );
  debug.takeBy(() => void dump(options, debug, supervisor, log));
  try {
    takeHost(prepared, log);
    logOptions(log, loaded.warnings);
    await checkKeys(options, log);
    const specsOf = await openServers(prepared, shared);
    if (!shared.stopping.signal.aborted) {
      const supervised = await superviseAll(prepared, shared, specsOf(loaded));
      supervisor = supervised;
      renew = (next) => supervised.use(specsOf(next));
    }
    await shared.stopping.first;
    return EXIT.ok;
  } catch (error) {
    log.fatal({ err: error }, 'the master does not start');
    print(`brine master: ${(error as Error).message}`);
    return error instanceof StartRefusal ? error.exitCode : EXIT.generic;
  } finally {
    void manager.stopping();
    await releasers.run();
  }
}

/** Starts NATS and PostgreSQL. Returns a function that makes the services for a configuration. */
async function openServers({ loaded, output }: PreparedMaster, { log, releasers }: Shared) {
  const { options } = loaded;
  const [nats, postgres] = await openBoth(options, log, releasers);
  return (next: LoadedConfig<MasterOptions>) =>
    masterServices(
      servicesOf(options, {
        natsUrl: nats.value,
        databaseUrl: postgres.value,
        logLevel: output.levelOf,
        env: sdbOf(next),
      }),
    );
}

async function superviseAll(
  { loaded: { options }, output }: PreparedMaster,
  { log, manager, stopping, releasers }: Shared,
  specs: ReturnType<typeof masterServices>,
): Promise<Supervisor> {
  const supervisor = superviseServices(specs, {
    log,
    onLine: output.write,
    stateDir: options.brine.stateDir,
    stopDeadlineMs: options.brine.stopDeadline * 1000 + 1000,
  });
  stopping.onForce(() => supervisor.kill());
  // The log and services.json show the result.
  process.on('SIGUSR2', () => void supervisor.roll().catch(() => undefined));
  const metrics = await serveMetrics(options, supervisor, log);
  // Metrics are served until the services have stopped.
  releasers.add(() => metrics?.close());
  releasers.add(() => supervisor.stop());
  let endWatch = (): void => undefined;
  void announce(options, supervisor, manager, log, stopping.signal).then((end) => {
    endWatch = end;
  });
  releasers.add(() => endWatch());
  return supervisor;
}

function logOf(output: LogOutput): Log {
  const source = { service: 'master', pid: process.pid };
  const write = (line: string): void => output.write(source, line.trimEnd());
  const level: LogLevel = output.levelOf(source.service);
  return createLog({ service: source.service, level, destination: { write } });
}

/**
 * Does the privileged work, then drops root. Logs nothing before, because the log file belongs to
 * the account. Throws if it can not change its user.
 */
function takeHost({ loaded, account }: PreparedMaster, log: Log): void {
  const { pidfile, maxOpenFiles } = loaded.options;
  const lower = raiseOpenFiles(maxOpenFiles);
  let unwritten: unknown;
  try {
    writePidfile(pidfile, account.isOther ? account : undefined);
  } catch (error) {
    unwritten = error;
  }
  if (account.isOther) becomeAccount(account);
  log.info({ user: account.name }, 'starting');
  if (lower !== undefined) log.info(lower);
  if (unwritten === undefined) return;
  // A warning only, as in Salt. Service managers are notified by sd_notify.
  const unwritable = 'the pid file can not be written: tools that read it fail';
  log.warn({ err: unwritten, pidfile }, unwritable);
}

/** Logs Salt's warnings of a start, and checks the keys, without which no service can serve. */
async function checkKeys(options: MasterOptions, log: Log): Promise<void> {
  const { pkiDir, keysize, hashType } = options;
  const { privateKey, sign } = await loadOrCreateMasterKeys(
    pkiDir,
    keysize,
    masterKeyOptions(options),
  );
  for (const key of [privateKey, sign?.privateKey]) {
    if (key !== undefined && key.bits < BITS_MIN) {
      log.warn({ bits: key.bits, pkiDir }, 'a key of the master is too short: make a new one');
    }
  }
  if (hashType === 'md5' || hashType === 'sha1') {
    log.warn({ hashType }, 'hash_type is weak: set it to sha256, here and for minions');
  }
  const ended = endedOn(process.versions.node, Date.now());
  if (ended !== undefined) log.warn({ node: process.versions.node, ended }, 'Node gets no updates');
  const files = openFilesWarning(options);
  if (files !== undefined) log[files.level](files.text);
}

/** Notifies the service manager that the master serves. Resolves with the end of the watch. */
async function announce(
  options: MasterOptions,
  supervisor: Supervisor,
  manager: ServiceManager,
  log: Log,
  signal: AbortSignal,
): Promise<() => void> {
  await supervisor.started;
  if (manager.listens && !signal.aborted) {
    // Imported late: it loads 0MQ, which a supervisor needs for nothing else.
    const { untilAnswers } = await import('@brine/master-host/request-port');
    await untilAnswers(options, signal);
  }
  if (signal.aborted) return () => undefined;
  log.info({ id: options.id, console: consoleAddresses(options) }, 'the master serves');
  if (process.stdout.isTTY) await showConsole(options, log);
  await manager.ready(`${supervisor.services().length} services serve`);
  return manager.watch(() => isWell(supervisor.services()) && !signal.aborted);
}

/** Handles SIGHUP: reopens outputs, and logs changed options. Never throws. */
function reloader(
  { loaded, reread, output }: PreparedMaster,
  { log, manager }: Shared,
  renew: (next: LoadedConfig<MasterOptions>) => void,
): () => void {
  let current = loaded;
  const reload = (): void => {
    try {
      const next = reread();
      const refusal = refusalOf(next.warnings);
      if (refusal !== undefined) throw new Error(refusal);
      output.reopen(next.options);
      const changed = changedOptions(current.options, next.options);
      renew(next);
      current = next;
      logOptions(log, next.warnings);
      logChanges(log, changed);
    } catch (error) {
      log.error({ err: error }, 'the configuration can not be used: the master keeps its old one');
    }
  };
  let turn = Promise.resolve();
  return () => void (turn = turn.then(() => manager.reloading(reload)));
}

function logChanges(log: Log, { now, restart, stop }: ReturnType<typeof changedOptions>): void {
  log.info({ options: now }, 'SIGHUP: logs are opened again, and files are read when needed');
  if (restart.length > 0) log.warn({ options: restart }, 'changed options need `brine restart`');
  if (stop.length > 0) {
    log.warn({ options: stop }, 'changed options need a stop and a start of the master');
  }
}

function sdbOf({ sdb = {} }: LoadedConfig<MasterOptions>): Record<string, string> {
  return Object.keys(sdb).length === 0 ? {} : { [SDB_VARIABLE]: JSON.stringify(sdb) };
}

/** Handles SIGUSR1. Never throws: a full disk must not end the master. */
async function dump(
  options: MasterOptions,
  debug: DebugSignal,
  supervisor: Supervisor | undefined,
  log: Log,
): Promise<void> {
  try {
    const services = (await supervisor?.dump(DUMP_MS)) ?? [];
    const facts = { version: BRINE_VERSION, now: new Date(), own: debug.facts(), services };
    const file = writeDebugFile(options.brine.stateDir, facts);
    log.warn({ file }, 'SIGUSR1 is taken: stacks and queues of all services are written');
  } catch (error) {
    log.error({ err: error }, 'SIGUSR1 is taken, and its file can not be written');
  }
}

/** The joined endpoint, if configured. Jobs matter more: a taken port is only logged. */
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

/** Opens both in parallel. If one fails, the caller stops the other. */
async function openBoth(
  options: MasterOptions,
  log: Log,
  releasers: Releasers,
): Promise<[Awaited<ReturnType<typeof openNats>>, Awaited<ReturnType<typeof openPostgres>>]> {
  const keep = <T extends Neighbour<unknown>>(neighbour: T): T => {
    releasers.add(() => neighbour.stop());
    return neighbour;
  };
  const nats = openNats(options, log).then(keep);
  const postgres = openPostgres(options, log).then(keep);
  await Promise.allSettled([nats, postgres]);
  return [await nats, await postgres];
}
