import { join } from 'node:path';
import {
  runProgram,
  type SaltHome,
  type SaltPorts,
  SaltProcess,
  SaltSandbox,
  type SaltVenv,
  saltVenv,
  SaltVenvError,
  waitForPort,
} from '@brine/testing';
import { cherrypyBeside } from '@brine/testing/packages';
import { ProcessTree } from '../measure/process-tree.ts';
import { COMMAND_TIMEOUT_MS, GRACE_MS } from './commands.ts';
import { countReturnFiles, fillJobFiles } from './job-files.ts';
import {
  type CommandRun,
  COMMON_CONFIG,
  type MasterOptions,
  type MasterUnderTest,
  stockMaster,
  type StockName,
} from './master.ts';
import { timeUntilServing } from './serving.ts';

const API_START_MS = 60_000;

/** The installed releases, each with its environment; prints a line about missing ones. */
export async function installedStock(
  names: readonly StockName[],
  say: (line: string) => void,
): Promise<ReadonlyMap<StockName, SaltVenv>> {
  const found = new Map<StockName, SaltVenv>();
  try {
    for (const name of names) {
      found.set(name, await saltVenv(stockMaster(name).release, { onProgress: say }));
    }
  } catch (error) {
    if (!(error instanceof SaltVenvError)) throw error;
    say(`only Brine is measured: ${error.message.split('\n')[0] ?? ''}`);
    found.clear();
  }
  return found;
}

/** A stock salt-master in a sandbox of its own. */
export class StockUnderTest implements MasterUnderTest {
  readonly name: StockName;
  readonly home: SaltHome & SaltPorts;
  readonly tree: ProcessTree;
  readonly startMs: number;
  readonly #venv: SaltVenv;
  readonly #sandbox: SaltSandbox;
  readonly #process: SaltProcess;
  #api: SaltProcess | undefined;

  private constructor(parts: Parts, process: SaltProcess, pid: number, startMs: number) {
    this.name = parts.name;
    this.#venv = parts.venv;
    this.#sandbox = parts.sandbox;
    this.home = parts.home;
    this.#process = process;
    this.tree = new ProcessTree(pid);
    this.startMs = startMs;
  }

  /** Starts a master of this release and waits until it serves. */
  static async start(
    name: StockName,
    venv: SaltVenv,
    options: MasterOptions = {},
  ): Promise<StockUnderTest> {
    const sandbox = await SaltSandbox.create();
    const home = await sandbox.master({
      ...COMMON_CONFIG,
      ...stockMaster(name).config,
      ...options.config,
    });
    return StockUnderTest.#run({ name, venv, sandbox, home });
  }

  // Not SaltSandbox.startMaster: that logs everything, which would be measured too.
  static async #run(parts: Parts): Promise<StockUnderTest> {
    const { venv, home, sandbox } = parts;
    const started = SaltProcess.start({
      command: venv.python,
      args: [venv.bin('salt-master'), '-c', home.configDir, '-l', 'warning'],
      env: sandbox.env(),
      logFile: home.logFile,
      graceMs: GRACE_MS,
    });
    try {
      const startMs = await timeUntilServing(home);
      return new StockUnderTest(parts, started, started.pid ?? 0, startMs);
    } catch (cause) {
      const log = await started.log();
      await started.stop();
      await sandbox.close();
      throw new Error(`Salt ${parts.name} did not start:\n${log.slice(-4_000)}`, { cause });
    }
  }

  async countReturns(jids: readonly string[]): Promise<number> {
    const counts = await Promise.all(jids.map((jid) => countReturnFiles(this.home.cacheDir, jid)));
    return counts.reduce((sum, one) => sum + one, 0);
  }

  async fillStore(jobs: number): Promise<void> {
    await fillJobFiles(this.home.cacheDir, jobs);
  }

  /** Stock masters keep no keys: each start makes a new AES key. */
  async restart(): Promise<StockUnderTest> {
    await this.#process.stop();
    const { name, home } = this;
    return StockUnderTest.#run({ name, home, venv: this.#venv, sandbox: this.#sandbox });
  }

  /** Starts its salt-api, whose web server is installed beside the environment. */
  async serveHttp(port: number): Promise<void> {
    const packages = await cherrypyBeside(this.#venv);
    this.#api = SaltProcess.start({
      command: this.#venv.python,
      args: [this.#venv.bin('salt-api'), '-c', this.home.configDir, '-l', 'warning'],
      env: { ...this.#sandbox.env(), PYTHONPATH: packages },
      logFile: join(this.#sandbox.dir, 'salt-api.out'),
      graceMs: GRACE_MS,
    });
    await waitForPort(port, API_START_MS);
  }

  runCommand(command: 'salt' | 'salt-run', args: readonly string[]): Promise<CommandRun> {
    return this.#sandbox.run(this.#venv, command, this.home, args, COMMAND_TIMEOUT_MS);
  }

  async close(): Promise<void> {
    await this.#api?.stop();
    await this.#process.stop();
    await this.#sandbox.close();
  }
}

interface Parts {
  readonly name: StockName;
  readonly venv: SaltVenv;
  readonly sandbox: SaltSandbox;
  readonly home: SaltHome & SaltPorts;
}

/** Runs a command of a release of Salt on the configuration of any master of this machine. */
export function runStockCommand(
  venv: SaltVenv,
  command: string,
  home: SaltHome,
  args: readonly string[],
): Promise<CommandRun> {
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: home.configDir };
  const all = [venv.bin(command), '-c', home.configDir, ...args];
  return runProgram(venv.python, all, { env, timeoutMs: COMMAND_TIMEOUT_MS });
}
