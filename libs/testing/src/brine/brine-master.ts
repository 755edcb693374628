import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ProgramRun, runProgram } from '../run-program.ts';
import {
  type SaltConfig,
  type SaltHome,
  type SaltPorts,
  SaltProcess,
  SaltSandbox,
  startTally,
} from '../salt/index.ts';
import { BRINE, brineEnv, startSupervisor, type SupervisorSettings } from './brine-program.ts';
import { placePostgresData } from './postgres-data.ts';
import {
  haveKeyFiles,
  type ServiceLine,
  servicesOf,
  servicesReady,
  takeJobs,
  waitForSign,
} from './signs-of-life.ts';

/** A first start sets up PostgreSQL and may install nats-server. */
const READY_TIMEOUT_MS = 120_000;
const COMMAND_TIMEOUT_MS = 90_000;
const POLL_MS = 100;
/** A minion that has not logged in by then may still answer. */
const SIGN_MS = 10_000;

/** The settings of a master beside its file. */
export interface BrineMasterSettings {
  /** Added to the environment of the master, its minions and all commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** `-l` of master and minions, default `info`. */
  readonly logLevel?: string;
  /** Time that its services have to stop before they are killed, default 4 s. */
  readonly graceMs?: number;
  /** Makes the data of its PostgreSQL itself, as for users; default: gets a copy. */
  readonly firstStart?: boolean;
  /** The `brine.mjs` that master and commands run, default that of this checkout. */
  readonly program?: string | undefined;
  /** Called when its directories exist, before it starts. */
  readonly onHome?: (home: SaltHome & SaltPorts) => void | Promise<void>;
}

/** A whole Brine master (`brine master`) in a directory of its own, with minions beside it. */
export class BrineMaster {
  readonly sandbox: SaltSandbox;
  readonly home: SaltHome & SaltPorts;
  #process: SaltProcess;
  readonly #minions: SaltProcess[] = [];
  readonly #settings: SupervisorSettings;
  #startMs = Number.NaN;

  private constructor(
    sandbox: SaltSandbox,
    home: SaltHome & SaltPorts,
    process: SaltProcess,
    settings: SupervisorSettings,
  ) {
    this.sandbox = sandbox;
    this.home = home;
    this.#process = process;
    this.#settings = settings;
  }

  /** Starts a master and waits until it serves. `config` goes into the master's file. */
  static async start(
    config: SaltConfig = {},
    settings: BrineMasterSettings = {},
  ): Promise<BrineMaster> {
    startTally.started('masters');
    using _ = startTally.waiting('masters');
    const sandbox = await SaltSandbox.create();
    const env = { ...brineEnv(sandbox), ...settings.env };
    const { logLevel = 'info', program = BRINE, graceMs } = settings;
    // PostgreSQL refuses to run as root and must reach its directory as another user.
    await chmod(sandbox.dir, 0o711);
    const home = await sandbox.master({
      auto_accept: false,
      // An absent minion costs a test this long.
      gather_job_timeout: 2,
      ...config,
      // Several masters run at a time.
      brine: { http: { port: 0 }, ...(config['brine'] as SaltConfig | undefined) },
    });
    for (const dir of [home.configDir, home.cacheDir]) await chmod(dir, 0o711);
    const isOwn = !('DATABASE_URL' in env) && usesBuiltInPostgres(config);
    // Another release makes data in its own way: without the roles of this one.
    if (isOwn && settings.firstStart !== true && settings.program === undefined) {
      await placePostgresData(join(home.cacheDir, 'brine', 'postgres'));
    }
    await settings.onHome?.(home);
    const supervised = { program, env, logLevel, graceMs };
    const started = startSupervisor(supervised, home);
    const master = new BrineMaster(sandbox, home, started, supervised);
    sandbox.hasMaster({
      stateDir: join(home.cacheDir, 'brine'),
      ask: async (...given) => outputOf(await master.brine(...given)),
    });
    try {
      await master.waitUntilReady();
    } catch (cause) {
      const log = await started.log();
      await master.close();
      throw new Error(`the master did not start:\n${log.slice(-4000)}`, { cause });
    }
    return master;
  }

  /** Process id of the supervisor. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** The log of the master so far. */
  log(): Promise<string> {
    return this.#process.log();
  }

  /** From a start of its process until all services were ready, in ms. */
  get startMs(): number {
    return this.#startMs;
  }

  /** Waits until `brine status` reports that the master serves. */
  async waitUntilReady(timeoutMs = READY_TIMEOUT_MS): Promise<void> {
    const since = performance.now();
    const until = Date.now() + timeoutMs;
    await waitForSign(() => servicesReady(this.home.cacheDir), until);
    this.#startMs = performance.now() - since;
    for (;;) {
      const { code, stderr, stdout } = await this.brine('status', []);
      if (code === 0) return;
      if (Date.now() > until)
        throw new Error(`not ready after ${timeoutMs} ms: ${stdout}${stderr}`);
      await sleep(POLL_MS);
    }
  }

  /** The services, as the supervisor knows them; cheap, so poll it freely. */
  services(): Promise<readonly ServiceLine[]> {
    return servicesOf(this.home.cacheDir);
  }

  /** Runs a Brine command on the master's configuration. */
  brine(
    command: string,
    args: readonly string[],
    timeoutMs = COMMAND_TIMEOUT_MS,
  ): Promise<ProgramRun> {
    return this.run(
      [this.#settings.program, command, '-c', this.home.configDir, ...args],
      timeoutMs,
    );
  }

  /** Starts a Brine minion. */
  async startMinion(id: string, config: SaltConfig = {}): Promise<SaltProcess> {
    startTally.started('minions');
    const home = await this.sandbox.minion(id, this.home.retPort, config);
    const started = SaltProcess.start({
      command: process.execPath,
      args: [this.#settings.program, 'minion', '-c', home.configDir, '-l', this.#settings.logLevel],
      env: this.#settings.env,
      logFile: home.logFile,
    });
    this.#minions.push(started);
    return started;
  }

  /** Accepts the keys of these minions as they come; resolves when all are accepted. */
  async acceptKeys(ids: readonly string[], timeoutMs = 60_000): Promise<void> {
    using _ = startTally.waiting('minions');
    const until = Date.now() + timeoutMs;
    for (;;) {
      await waitForSign(() => haveKeyFiles(this.home.pkiDir, ids), until);
      await this.brine('key', ['-A', '-y']);
      const { stdout } = await this.brine('key', ['-l', 'acc', '--out', 'json']);
      const accepted = new Set((JSON.parse(stdout) as { minions?: string[] }).minions ?? []);
      if (ids.every((id) => accepted.has(id))) return;
      if (Date.now() > until) {
        throw new Error(`not all keys came: ${ids.filter((id) => !accepted.has(id)).join(', ')}`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Waits until each of these minions answers a `test.ping`. */
  async waitForMinions(ids: readonly string[], timeoutMs = 90_000): Promise<void> {
    using _ = startTally.waiting('minions');
    const until = Date.now() + timeoutMs;
    const signBy = Math.min(until, Date.now() + SIGN_MS);
    await waitForSign(() => takeJobs(this.sandbox.dir, ids), signBy);
    let missing = [...ids];
    while (missing.length > 0) {
      const args = ['-L', missing.join(','), 'test.ping', '--static', '--out', 'json', '-t', '2'];
      const { stdout } = await this.brine('salt', args);
      // Without a key of any of them it is a sentence.
      const isMap = stdout.trimStart().startsWith('{');
      const answers = JSON.parse(isMap ? stdout : '{}') as Record<string, unknown>;
      missing = missing.filter((id) => answers[id] !== true);
      if (missing.length > 0 && Date.now() > until) {
        throw new Error(
          `no answer from ${missing.join(', ')}:\n${(await this.log()).slice(-3000)}`,
        );
      }
    }
  }

  /** Runs Node on the given arguments in the sandbox's environment. */
  run(args: readonly string[], timeoutMs = COMMAND_TIMEOUT_MS): Promise<ProgramRun> {
    return runProgram(process.execPath, args, {
      env: this.#settings.env,
      timeoutMs,
      name: args.slice(1),
    });
  }

  /**
   * Ends the master with all its services, while minions stay, and starts it again. `whileDown` may
   * change its files.
   */
  async restart(whileDown?: () => Promise<void>): Promise<void> {
    await this.#process.stop();
    await whileDown?.();
    this.#process = startSupervisor(this.#settings, this.home);
    await this.waitUntilReady();
  }

  /** Ends the master with all its services at once, by SIGKILL, and starts it again. */
  async killAndStart(): Promise<void> {
    const { pid } = this.#process;
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    await this.#process.exited;
    this.#process = startSupervisor(this.#settings, this.home);
    await this.waitUntilReady();
  }

  /** Text of a file below the master's directory. */
  file(...path: readonly string[]): Promise<string> {
    return readFile(join(this.home.configDir, ...path), 'utf8');
  }

  /** Ends minions, then the master; the directory stays. */
  async stop(): Promise<void> {
    await Promise.all(this.#minions.map((one) => one.stop()));
    await this.#process.stop();
  }

  /** Ends minions, then the master, then removes the directory. */
  async close(): Promise<void> {
    await this.sandbox.closing();
    await this.stop();
    await this.sandbox.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** True if the master starts a PostgreSQL of its own, which is the default. */
function usesBuiltInPostgres({ brine = {} }: SaltConfig): boolean {
  const { postgres, state_dir: stateDir } = brine as Readonly<Record<string, unknown>>;
  return postgres === undefined && stateDir === undefined;
}

/** @throws Error if the command failed and printed only the reason. */
function outputOf({ code, stdout, stderr }: ProgramRun): string {
  if (stdout === '' && code !== 0) throw new Error(`exit ${code}: ${stderr}`);
  return stdout;
}
