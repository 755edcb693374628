import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { type AskedMaster, type Scene, sceneReport, scenes } from '../failure/index.ts';
import { type ProgramRun, runProgram } from '../run-program.ts';
import { freePorts, waitForPort } from './ports.ts';
import { SaltProcess } from './salt-process.ts';
import { startTally } from './start-tally.ts';
import type { SaltVenv } from './venv.ts';

const COMMAND_TIMEOUT_MS = 90_000;
const START_TIMEOUT_MS = 60_000;

/** Options of a Salt configuration file, in Salt's spelling. */
export type SaltConfig = Readonly<Record<string, unknown>>;

/** The result of a command of Salt's. */
export interface SaltOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The ports of a master, on loopback. */
export interface SaltPorts {
  readonly publishPort: number;
  readonly retPort: number;
}

/** The settings of a real master or minion, beside its file. */
interface SaltStart {
  /** `-l`, default `debug`. */
  readonly logLevel?: string;
  /** Added to its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A configuration directory with the directories that it names. */
export interface SaltHome {
  readonly configDir: string;
  readonly pkiDir: string;
  readonly cacheDir: string;
  readonly sockDir: string;
  readonly logFile: string;
}

/**
 * A place of its own for real Salt processes: configuration, keys, caches, sockets, HOME, all in
 * one temporary directory, all on loopback. `close` ends its processes and removes the directory,
 * unless `keepLogs` was called. In a test it is removed after the test, so that the report of a
 * failure can show its logs.
 */
export class SaltSandbox implements Scene {
  readonly dir: string;
  readonly #processes: SaltProcess[] = [];
  readonly #homes: SaltHome[] = [];
  readonly #releases = new Set<string>();
  #master: AskedMaster | undefined;
  #keep = false;

  private constructor(dir: string) {
    this.dir = dir;
  }

  /** A new sandbox. The name stays short: paths of unix sockets end at 107 bytes. */
  static async create(): Promise<SaltSandbox> {
    const dir = await mkdtemp(join(tmpdir(), 'brine-'));
    await mkdir(join(dir, 'home'));
    const sandbox = new SaltSandbox(dir);
    scenes.add(sandbox);
    return sandbox;
  }

  /** Writes the configuration of a master; the default ports are free ones. */
  async master(config: SaltConfig = {}, ports?: SaltPorts): Promise<SaltHome & SaltPorts> {
    const [publishPort = 0, retPort = 0] = ports
      ? [ports.publishPort, ports.retPort]
      : await freePorts(2);
    const home = await this.#home('master');
    await writeConfig(home, 'master', {
      ...COMMON,
      ...paths(home),
      interface: '127.0.0.1',
      publish_port: publishPort,
      ret_port: retPort,
      auto_accept: true,
      worker_threads: 3,
      file_roots: { base: [join(home.configDir, 'files')] },
      pillar_roots: { base: [join(home.configDir, 'pillar')] },
      ...config,
    });
    return { ...home, publishPort, retPort };
  }

  /** Writes the configuration of a minion. */
  async minion(id: string, retPort: number, config: SaltConfig = {}): Promise<SaltHome> {
    const home = await this.#home(`minion-${id}`);
    await writeConfig(home, 'minion', {
      ...COMMON,
      ...paths(home),
      id,
      master: '127.0.0.1',
      master_port: retPort,
      acceptance_wait_time: 1,
      random_reauth_delay: 1,
      recon_default: 200,
      recon_max: 400,
      // Looking up names and graphics cards costs seconds and is of no use to these tests.
      enable_fqdns_grains: false,
      enable_gpu_grains: false,
      ...config,
    });
    return home;
  }

  /** Starts a real master and waits until both ports are open. */
  async startMaster(
    venv: SaltVenv,
    home: SaltHome & SaltPorts,
    options: SaltStart = {},
  ): Promise<SaltProcess> {
    startTally.started('masters');
    using _ = startTally.waiting('masters');
    const started = this.#start(venv, 'salt-master', home, options);
    await waitForPort(home.retPort, START_TIMEOUT_MS);
    await waitForPort(home.publishPort, START_TIMEOUT_MS);
    return started;
  }

  /** Starts a real minion; does not wait for it to sign in. */
  startMinion(venv: SaltVenv, home: SaltHome, options: SaltStart = {}): SaltProcess {
    startTally.started('minions');
    return this.#start(venv, 'salt-minion', home, options);
  }

  /**
   * Runs one of Salt's commands to its end, as `salt`, `salt-key`, `salt-run`, `salt-call`.
   * An exit code other than 0 is no error here.
   */
  run(
    venv: SaltVenv,
    command: string,
    home: SaltHome,
    args: readonly string[],
    timeoutMs = COMMAND_TIMEOUT_MS,
  ): Promise<ProgramRun> {
    this.#releases.add(venv.version);
    const all = [venv.bin(command), '-c', home.configDir, ...args];
    const name = [command, ...args];
    return runProgram(venv.python, all, { env: this.env(), timeoutMs, name });
  }

  /** Environment of all processes here: a HOME of their own, so that no token leaks in. */
  env(): Record<string, string> {
    // Lets the run find remaining processes when it is cut off (tools/tests/left-processes.ts).
    const run = process.env['BRINE_TEST_REPORTS'];
    return {
      ...(run === undefined ? {} : { BRINE_TEST_REPORTS: run }),
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: join(this.dir, 'home'),
      LANG: 'C.UTF-8',
      PYTHONNOUSERSITE: '1',
      PYTHONWARNINGS: 'ignore',
    };
  }

  /** Keeps the directory, to read the logs; returns its path. */
  keepLogs(): string {
    this.#keep = true;
    return this.dir;
  }

  /** Names the Brine master for the report on a failure. */
  hasMaster(master: AskedMaster): void {
    this.#master = master;
  }

  /** The report of a failed test on all its processes. */
  report(withinMs: number): Promise<string> {
    return sceneReport({
      dir: this.dir,
      releases: [...this.#releases],
      configDirs: this.#homes.map(({ configDir }) => configDir),
      master: this.#master,
      withinMs,
    });
  }

  /** Called before the first process ends: a report on a failure asks the running ones. */
  closing(): Promise<void> {
    return scenes.closing(this);
  }

  /** Ends all its processes, then removes the directory. */
  async close(): Promise<void> {
    await this.closing();
    // A stock minion takes 4 to 8 s to end by SIGTERM, and saves nothing that outlives this.
    await Promise.all(this.#processes.map((one) => one.kill()));
    await scenes.closed(this);
  }

  /** Part of {@link close}. */
  async removeDir(): Promise<void> {
    if (!this.#keep) await rm(this.dir, { recursive: true, force: true, maxRetries: 5 });
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #start(
    venv: SaltVenv,
    command: string,
    home: SaltHome,
    { logLevel = 'debug', env = {} }: SaltStart = {},
  ): SaltProcess {
    const args = [venv.bin(command), '-c', home.configDir, '-l', logLevel];
    const { logFile } = home;
    this.#releases.add(venv.version);
    const started = SaltProcess.start({
      command: venv.python,
      args,
      env: { ...this.env(), ...env },
      logFile,
    });
    this.#processes.push(started);
    return started;
  }

  async #home(name: string): Promise<SaltHome> {
    const configDir = join(this.dir, name);
    const home = {
      configDir,
      pkiDir: join(configDir, 'pki'),
      cacheDir: join(configDir, 'cache'),
      sockDir: join(configDir, 'sock'),
      logFile: join(this.dir, `${name}.log`),
    };
    for (const dir of ['pki', 'cache', 'sock', 'files', 'pillar']) {
      await mkdir(join(configDir, dir), { recursive: true, mode: 0o700 });
    }
    this.#homes.push(home);
    return home;
  }
}

const COMMON: SaltConfig = {
  user: userInfo().username,
  log_level_logfile: 'quiet',
  log_file: '/dev/null',
  ipv6: false,
};

function paths(home: SaltHome): SaltConfig {
  return {
    root_dir: home.configDir,
    pki_dir: home.pkiDir,
    cachedir: home.cacheDir,
    sock_dir: home.sockDir,
    pidfile: join(home.configDir, 'pid'),
    extension_modules: join(home.cacheDir, 'extmods'),
  };
}

// JSON is YAML: no writer for YAML is needed.
async function writeConfig(home: SaltHome, name: string, config: SaltConfig): Promise<void> {
  const lines = Object.entries(config)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  await writeFile(join(home.configDir, name), `${lines.join('\n')}\n`);
}
