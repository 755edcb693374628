import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMarker } from '@brine/backup/marker';
import {
  ConfigError,
  type LoadedConfig,
  loadMasterConfig,
  type LogLevel,
  masterConfigFiles,
  type MasterOptions,
  refusalOf,
} from '@brine/config';
import {
  type DebugSignal,
  isSyslog,
  keepInspectorShut,
  LogFormatError,
  type LogOutput,
  openLogOutput,
} from '@brine/service';
import {
  type ClaimedHost,
  HostTakenError,
  masterServices,
  readState,
} from '@brine/service/processes';
import { EXIT } from '../exit-codes.ts';
import { type Account, accountOf } from './account.ts';
import { claimMaster } from './claim.ts';
import { checkPorts, checkReach } from './reach.ts';
import { serveMaster } from './serve-master.ts';
import { servicesOf } from './services-of.ts';
import { errnoOf, reasonOf, StartRefusal } from './start-refusal.ts';
import { logFilesOf, verifyEnv } from './verify-env.ts';

/** Timeout of `-d` for the services of the master. */
const DAEMON_WAIT_MS = 30_000;

/** Arguments of `brine master`. */
export interface MasterArguments {
  readonly configDir?: string | undefined;
  readonly user?: string | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly logFile?: string | undefined;
  readonly logLevelLogfile?: LogLevel | undefined;
  readonly daemon?: boolean | undefined;
  readonly pidFile?: string | undefined;
}

/** Resources of the host that a master owns before it serves. */
interface TakenHost {
  readonly account: Account;
  readonly claimed: ClaimedHost;
  readonly output: LogOutput;
}

/**
 * `brine master`: runs all services on this host until a signal, with its own NATS and PostgreSQL
 * unless others are configured. It does privileged work first, and then runs as the option `user`.
 * Resolves with the exit code.
 */
export async function runMaster(args: MasterArguments): Promise<number> {
  const debug: DebugSignal = keepInspectorShut();
  // Services read it too.
  if (args.user !== undefined) process.env['BRINE_USER'] = args.user;
  let loaded: LoadedConfig<MasterOptions>;
  try {
    loaded = readOptions(args);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    print(`[ERROR   ] ${error.message}`);
    return EXIT.generic;
  }
  const { options, warnings } = loaded;
  // Salt prints this text before the log is open.
  for (const { kind, text } of warnings) if (kind === 'missing') print(text);
  const refusal = refusalOf(warnings);
  if (refusal !== undefined) return failed(refusal);
  const entries = entriesOf(options);
  const missing = entries.find(({ entry }) => !existsSync(entry));
  if (missing) return failed(`${missing.name} is not built: run \`npm run build\` first`);
  let taken: TakenHost;
  try {
    taken = await takeHost(
      options,
      entries.map(({ entry }) => entry),
    );
  } catch (error) {
    if (error instanceof HostTakenError) return failed(error.message, EXIT.portsTaken);
    if (error instanceof StartRefusal) return failed(error.message, error.exitCode);
    if (error instanceof LogFormatError) return failed(error.message);
    throw error;
  }
  if (args.daemon !== true) {
    return serveMaster({ loaded, reread: () => readOptions(args), debug, print, ...taken });
  }
  // The background process claims the host itself.
  taken.claimed.release();
  return startDaemon(args, options);
}

/** The options of the file, overridden by the command line. Throws ConfigError. */
function readOptions(args: MasterArguments): LoadedConfig<MasterOptions> {
  const loaded = loadMasterConfig({ configDir: args.configDir });
  const { options } = loaded;
  const given = {
    logLevel: args.logLevel ?? options.logLevel,
    logFile: args.logFile === undefined ? options.logFile : placed(args.logFile),
    logLevelLogfile: args.logLevelLogfile ?? options.logLevelLogfile,
    pidfile: args.pidFile === undefined ? options.pidfile : resolve(args.pidFile),
  };
  return { ...loaded, options: { ...options, ...given } };
}

function placed(logFile: string): string {
  return isSyslog(logFile) ? logFile : resolve(logFile);
}

/**
 * The start sequence of a stock master up to its log: account, ports, directories. Nothing is
 * written before the ports are found free, and a refusal leaves only files that the next start
 * needs too. Throws StartRefusal, HostTakenError, LogFormatError.
 */
async function takeHost(options: MasterOptions, entries: readonly string[]): Promise<TakenHost> {
  const account = await accountOf(options.user);
  checkPorts(account, [
    options.publishPort,
    options.retPort,
    ...options.brine.furtherPublishPorts.map(Number),
    options.brine.http.port,
  ]);
  const read = [...entries, ...masterConfigFiles({ file: options.confFile })];
  checkReach(account, read, logFilesOf(options));
  const claimed = await claimOrRefuse(options, account);
  try {
    refuseHalfRestored(options);
    await verifyEnv(options, account);
    const console = (text: string): void => void process.stderr.write(text);
    const output = openLogOutput(options, console, (text) => print(`[WARNING ] ${text}`));
    return { account, claimed, output };
  } catch (error) {
    claimed.release();
    throw error;
  }
}

/** Refuses to start on an unfinished restore, which would be incomplete. */
function refuseHalfRestored({ brine, configDir }: MasterOptions): void {
  const begun = readMarker(brine.stateDir);
  if (begun === undefined) return;
  const again = `brine restore ${begun.file} -c ${configDir}`;
  throw new StartRefusal(EXIT.generic, `a restore was not ended: run \`${again}\` again`);
}

/** Claims the host, and turns errors as a full disk into a StartRefusal. */
async function claimOrRefuse(options: MasterOptions, account: Account): Promise<ClaimedHost> {
  try {
    return await claimMaster(options);
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).errno !== 'number') throw error;
    // verifyEnv names the first wrong directory, as Salt does.
    await verifyEnv(options, account);
    const text = `${options.brine.stateDir} can not be written - ${reasonOf(error)}`;
    throw new StartRefusal(errnoOf(error), text, { cause: error });
  }
}

/** The programs of the services, without their arguments. */
function entriesOf(options: MasterOptions) {
  const natsUrl = (): string => '';
  return masterServices(servicesOf(options, { natsUrl, databaseUrl: '', logLevel: undefined }));
}

/** `-d`: starts the same command in a new session; resolves when it runs. */
async function startDaemon(args: MasterArguments, options: MasterOptions): Promise<number> {
  const program = process.argv[1] ?? '';
  const given = [
    ['-c', args.configDir === undefined ? undefined : options.configDir],
    ['-l', args.logLevel],
    ['--log-file', args.logFile === undefined ? undefined : options.logFile],
    ['--log-file-level', args.logLevelLogfile],
    ['--pid-file', args.pidFile === undefined ? undefined : options.pidfile],
  ].flatMap(([name = '', value]) => (value === undefined ? [] : [name, value]));
  const child = spawn(process.execPath, [...process.execArgv, program, 'master', ...given], {
    detached: true,
    stdio: 'ignore',
  });
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
    print('brine master: not started, another master has taken its ports meanwhile');
    return EXIT.portsTaken;
  }
  if (!ended) return EXIT.ok;
  return failed(`the master ended at once; see ${options.logFile}`, child.exitCode || EXIT.generic);
}

function failed(text: string, code: number = EXIT.generic): number {
  print(`brine master: ${text}`);
  return code;
}

function print(text: string): void {
  process.stderr.write(`${text}\n`);
}
