import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BrineMaster,
  NEWEST_SALTS,
  releaseOf,
  type SaltConfig,
  type SaltHome,
  type SaltOutput,
  type SaltVenv,
  saltVenv,
  type SaltVersion,
} from '@brine/testing';
import { expect } from 'vitest';

/** The minions beside the master. */
export const MINIONS = ['fast-1', 'fast-2', 'fast-3'];

/** A Brine master with some minions, and the command lines of several releases on its host. */
export class StockCli {
  readonly master: BrineMaster;
  readonly #stock = new Map<SaltVersion, { readonly venv: SaltVenv; readonly home: SaltHome }>();

  private constructor(master: BrineMaster) {
    this.master = master;
  }

  /** Starts all of it with these command lines; resolves when the minions answer. */
  static async start(
    versions: readonly SaltVersion[] = NEWEST_SALTS,
    options: { readonly brine?: SaltConfig; readonly master?: SaltConfig } = {},
  ): Promise<StockCli> {
    const venvs = new Map<SaltVersion, SaltVenv>();
    for (const version of versions) venvs.set(version, await saltVenv(version));
    // Named, so that the job files hold returns too: no stock salt is on this host's PATH.
    const brine = { workers: 2, event_framing: 'bare', ...options.brine };
    const master = await BrineMaster.start({ ...options.master, brine });
    const cli = new StockCli(master);
    for (const [version, venv] of venvs) {
      const { line, framing } = releaseOf(version);
      const home = await stockConfig(master, version, line === '3007' ? line : framing);
      cli.#stock.set(version, { venv, home });
    }
    for (const id of MINIONS) await master.startMinion(id);
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
    return cli;
  }

  /** Runs a command of a release. */
  run(version: SaltVersion, command: string, args: readonly string[]): Promise<SaltOutput> {
    const stock = this.#stock.get(version);
    if (stock === undefined) throw new Error(`no Salt ${version}`);
    return this.master.sandbox.run(stock.venv, command, stock.home, args);
  }

  /** Pings so often; each answer has to come by itself. */
  async expectAnswers(version: SaltVersion, runs: number): Promise<void> {
    const before = await findJobs(this.master);
    for (let index = 0; index < runs; index += 1) {
      // In so long nothing but a lost answer makes it ask.
      const args = ['*', 'test.ping', '--out', 'json', '--static', '-t', '60'];
      const { code, stdout, stderr } = await this.run(version, 'salt', args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const answers = JSON.parse(stdout) as Record<string, unknown>;
      expect(answers).toEqual(Object.fromEntries(MINIONS.map((id) => [id, true])));
    }
    expect(await findJobs(this.master)).toBe(before);
  }
}

/** A configuration folder for a stock CLI: the master's, with the sockets of its release. */
async function stockConfig(
  master: BrineMaster,
  version: string,
  sockets: string,
): Promise<SaltHome> {
  const { home } = master;
  const configDir = join(master.sandbox.dir, `cli-${version}`);
  await mkdir(configDir);
  await chmod(configDir, 0o755);
  const sockDir = join(home.sockDir, sockets);
  const lines = (await master.file('master'))
    .split('\n')
    .filter((line) => !/^(sock_dir|brine):/.test(line));
  lines.push(`sock_dir: ${JSON.stringify(sockDir)}`);
  await writeFile(join(configDir, 'master'), `${lines.join('\n')}\n`);
  return { ...home, configDir, sockDir };
}

/**
 * How often a client asked whether a job still runs. Lists hide such jobs, the disk does not.
 */
async function findJobs(master: BrineMaster): Promise<number> {
  const dir = join(master.home.cacheDir, 'jobs');
  const names = await readdir(dir, { recursive: true });
  const loads = names.filter((name) => name.endsWith('.load.p'));
  const texts = await Promise.all(loads.map((name) => readFile(join(dir, name), 'latin1')));
  expect(texts.length).toBeGreaterThan(0);
  return texts.filter((text) => text.includes('saltutil.find_job')).length;
}
