import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BrineMaster,
  endPool,
  newestOf,
  releaseOf,
  type SaltConfig,
  type SaltVenv,
  saltVenv,
  type SaltVersion,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import pg from 'pg';
import { CaseLab, labFiles, MINIONS } from './case-lab.ts';

const JOB_TABLES = ['jobs', 'returns', 'evidence', 'sightings', 'orphans', 'job_counts', 'doubts'];

/** The lab of the recordings, on a Brine master. */
export class Lab extends CaseLab {
  readonly release: SaltVersion;
  readonly master: BrineMaster;
  /** The lab's states, pillar and users. */
  readonly #files: string;
  readonly #postgres: TestPostgres;
  readonly #pool: pg.Pool;

  private constructor(given: {
    readonly release: SaltVersion;
    readonly master: BrineMaster;
    readonly venv: SaltVenv;
    readonly files: string;
    readonly postgres: TestPostgres;
  }) {
    const { sandbox, home } = given.master;
    const stockConfig = join(sandbox.dir, 'CONF-stock');
    super({ sandbox, venv: given.venv, stockConfig, retPort: home.retPort });
    this.release = given.release;
    this.master = given.master;
    this.#files = given.files;
    this.#postgres = given.postgres;
    this.#pool = new pg.Pool({ connectionString: given.postgres.url, max: 1 });
  }

  /**
   * Starts all of it; resolves when the minions know the lab's module, pillar and mine.
   * @param ofWeb2 the release of the one minion that is older than the others
   * @param more options of the master
   */
  static async start(
    release: SaltVersion,
    ofWeb2 = newestOf('3006'),
    more: SaltConfig = {},
  ): Promise<Lab> {
    const venv = await saltVenv(release);
    const older = await saltVenv(ofWeb2);
    const postgres = await startPostgres();
    const files = await mkdtemp(join(tmpdir(), 'brine-lab-'));
    let lab: Lab | undefined;
    try {
      const master = await startMaster(release, { files, postgres, more });
      lab = new Lab({ release, master, venv, files, postgres });
      await lab.#furnish(older);
      return lab;
    } catch (error) {
      await (lab?.close() ?? postgres.stop());
      throw error;
    }
  }

  /** Adds the minions and makes them know what they must. */
  async #furnish(older: SaltVenv): Promise<void> {
    const { master } = this;
    await writeStockConfig(master, this.stockConfig, releaseOf(this.release).framing);
    await this.startMinions(older);
    await master.waitForMinions(MINIONS);
    await this.teachMinions((args) => master.brine('salt', args));
  }

  override async clearJobs(): Promise<void> {
    await this.nothingRuns();
    const tables = JOB_TABLES.map((name) => `brine.${name}`).join(', ');
    await this.#pool.query(`TRUNCATE ${tables}`);
    const dir = join(this.master.home.cacheDir, 'jobs');
    for (const name of await readdir(dir)) {
      await rm(join(dir, name), { recursive: true, force: true, maxRetries: 5 });
    }
  }

  override async close(): Promise<void> {
    await this.master.close();
    await endPool(this.#pool);
    await this.#postgres.stop();
    await rm(this.#files, { recursive: true });
  }
}

/** @param files gets the lab's own files, which have to be there before the master's directory. */
async function startMaster(
  release: SaltVersion,
  {
    files,
    postgres,
    more,
  }: {
    readonly files: string;
    readonly postgres: TestPostgres;
    readonly more: SaltConfig;
  },
): Promise<BrineMaster> {
  const settings = { env: { DATABASE_URL: postgres.url }, logLevel: 'warning' };
  const config = await labFiles(files);
  // Named, so that stock tools find returns and minion data: no stock salt is on this host's PATH.
  const brine = { event_framing: 'bare', minion_banks: release.slice(0, 4) };
  return BrineMaster.start({ ...config, ...more, brine }, settings);
}

/** The master's configuration, with the sockets in the framing of a stock release. */
async function writeStockConfig(
  master: BrineMaster,
  configDir: string,
  framing: string,
): Promise<void> {
  await mkdir(configDir);
  const lines = (await master.file('master'))
    .split('\n')
    .filter((line) => !/^(?:sock_dir|brine):/.test(line));
  lines.push(`sock_dir: ${JSON.stringify(join(master.home.sockDir, framing))}`);
  await writeFile(join(configDir, 'master'), `${lines.join('\n')}\n`);
}
