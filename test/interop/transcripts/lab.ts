import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import {
  BrineMaster,
  endPool,
  releaseOf,
  type SaltConfig,
  type SaltHome,
  type SaltProcess,
  type SaltVenv,
  saltVenv,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import { until } from '@brine/testing/waits';
import { intOf, isMap, unpack } from '@brine/wire';
import pg from 'pg';
import { parse } from 'yaml';
import { FIXTURES, type RecordedRelease } from './recorded-cases.ts';

const LAB = join(FIXTURES, 'lab');
const DEAD = 'dead1.example';
const MINIONS = ['web1.example', 'web2.example', 'db1.example', DEAD];
const LIVE = MINIONS.filter((id) => id !== DEAD);
/** Of the lab of 3008.2; in that of 3006.26 every part is 3006.26. */
const OLDER = ['web2.example', DEAD];
const JOB_TABLES = ['jobs', 'returns', 'evidence', 'sightings', 'orphans'];
/** A minion forks for every job; loaded cores take their time. */
const QUIET_MS = 60_000;

/** The keys that the hook `keys-reset` puts on each shelf of the key store. */
const SHELVES = new Map([
  ['minions', ['spare-a.example', 'spare-b.example']],
  ['minions_pre', ['new1.example', 'new2.example']],
  ['minions_rejected', ['bad1.example']],
  ['minions_denied', ['denied1.example']],
]);

/** A text that differs between two labs, and the placeholder that stands for it. */
export type Replaced = readonly [text: string, placeholder: string];

/** The lab of the recordings, on a Brine master: three live minions and one that was stopped. */
export class Lab {
  readonly release: RecordedRelease;
  readonly master: BrineMaster;
  /** Python with the lab's release of Salt. */
  readonly venv: SaltVenv;
  /** The configuration folder for the stock tools of the lab's release. */
  readonly stockConfig: string;
  /** The lab's states, pillar and users. */
  readonly #files: string;
  readonly #postgres: TestPostgres;
  readonly #pool: pg.Pool;
  readonly #minions = new Map<string, { readonly home: SaltHome; process: SaltProcess }>();

  private constructor(given: {
    readonly release: RecordedRelease;
    readonly master: BrineMaster;
    readonly venv: SaltVenv;
    readonly stockConfig: string;
    readonly files: string;
    readonly postgres: TestPostgres;
  }) {
    this.release = given.release;
    this.master = given.master;
    this.venv = given.venv;
    this.stockConfig = given.stockConfig;
    this.#files = given.files;
    this.#postgres = given.postgres;
    this.#pool = new pg.Pool({ connectionString: given.postgres.url, max: 1 });
  }

  /** Starts all of it; resolves when the minions know the lab's module, pillar and mine. */
  static async start(release: RecordedRelease): Promise<Lab> {
    const venv = await saltVenv(release);
    const older = await saltVenv('3006.26');
    const postgres = await startPostgres();
    const files = await mkdtemp(join(tmpdir(), 'brine-lab-'));
    let lab: Lab | undefined;
    try {
      const master = await startMaster(release, files, postgres);
      const stockConfig = join(master.sandbox.dir, 'CONF-stock');
      lab = new Lab({ release, master, venv, stockConfig, files, postgres });
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
    await this.#addFolders();
    for (const id of MINIONS) await this.#startMinion(id, OLDER.includes(id) ? older : this.venv);
    await master.waitForMinions(MINIONS);
    for (const fun of ['saltutil.sync_modules', 'saltutil.refresh_pillar', 'mine.update']) {
      const args = ['*', fun, '--static', '--out', 'json', '-t', '60'];
      const { stdout, stderr } = await master.brine('salt', args);
      const answered = Object.keys(JSON.parse(stdout) as object).sort();
      if (answered.length !== MINIONS.length) {
        throw new Error(`${fun} was answered by ${answered.join(', ')} only: ${stderr}`);
      }
    }
    await this.nothingRuns();
    await this.#minions.get(DEAD)?.process.stop();
  }

  /** A folder of the lab that is no configuration of the master. */
  folder(name: string): string {
    return join(this.master.sandbox.dir, name);
  }

  /** The configuration folder of a live minion. */
  minionConfig(id: string): string {
    const minion = this.#minions.get(id);
    if (minion === undefined) throw new Error(`no minion ${id}`);
    return minion.home.configDir;
  }

  /** What in the texts of this lab is not what it was in the recorded one. */
  replaced(): readonly Replaced[] {
    const host = hostname();
    const minions = MINIONS.flatMap((id): readonly Replaced[] => {
      const dir = this.minionConfig(id);
      const root = `<ROOT>/minions/${id.replace('.example', '')}`;
      return [
        [join(dir, 'cache', 'extmods'), `${root}/var/cache/salt/minion/extmods`],
        [dir, root],
      ];
    });
    return [
      ...minions,
      [join(this.venv.dir, 'bin', '/'), ''],
      [this.folder('root-of-nomaster'), '<NOROOT>'],
      [this.folder('root-of-nokey'), '<NOKEYROOT>'],
      ...['missing', 'bad', 'nomaster', 'nokey'].map((name): Replaced => [
        this.folder(`CONF-${name}`),
        `CONF-${name}`,
      ]),
      ...['_master', '.pem', '.pub'].map((end): Replaced => [`${host}${end}`, `<HOST>${end}`]),
    ];
  }

  /**
   * Waits until no live minion runs a job.
   * @param named only jobs with this text in their function or arguments
   */
  async nothingRuns(named = ''): Promise<void> {
    const isQuiet = async (): Promise<boolean> => {
      const running = await Promise.all(LIVE.map((id) => this.#runningOn(id)));
      return !running.flat().some((job) => job.includes(named));
    };
    await until('no minion runs a job', isQuiet, { withinMs: QUIET_MS });
  }

  /**
   * The job files of a minion: MessagePack, in which texts are readable. A job that was killed, or
   * a salt-call that ended with an exception, leaves its file behind.
   */
  async #runningOn(id: string): Promise<readonly string[]> {
    const dir = join(this.minionConfig(id), 'cache', 'proc');
    const files = (await readdir(dir)).map((name) => readFile(join(dir, name)));
    return (await Promise.all(files)).filter(isAlive).map((file) => file.toString('latin1'));
  }

  /** The hook `jobs-clear`: no job is in the job cache, nor in the files for stock tools. */
  async clearJobs(): Promise<void> {
    await this.nothingRuns();
    const tables = JOB_TABLES.map((name) => `brine.${name}`).join(', ');
    await this.#pool.query(`TRUNCATE ${tables}`);
    const dir = join(this.master.home.cacheDir, 'jobs');
    for (const name of await readdir(dir)) {
      await rm(join(dir, name), { recursive: true, force: true, maxRetries: 5 });
    }
  }

  /** Ends all of it and removes its directories. */
  async close(): Promise<void> {
    await this.master.close();
    await endPool(this.#pool);
    await this.#postgres.stop();
    await rm(this.#files, { recursive: true });
  }

  async #startMinion(id: string, venv: SaltVenv): Promise<void> {
    const { sandbox, home: master } = this.master;
    const dir = join(sandbox.dir, `minion-${id}`);
    const common = await labConfig('minion.common.yaml', dir);
    const own = await labConfig(join('minions', `${id}.yaml`), dir);
    // For Brine's salt-call; a stock minion does not read it.
    const brine = { python: this.venv.python };
    const home = await sandbox.minion(id, master.retPort, { ...common, ...own, brine });
    await mkdir(join(dir, 'work'));
    // cmd.run takes its shell from here; a recorded text begins with its name.
    const env = { SHELL: '/bin/bash' };
    const process = sandbox.startMinion(venv, home, { logLevel: 'warning', env });
    this.#minions.set(id, { home, process });
  }

  /** `CONF-nomaster`, `CONF-nokey` and `CONF-bad`. */
  async #addFolders(): Promise<void> {
    for (const name of ['nomaster', 'nokey']) {
      const root = this.folder(`root-of-${name}`);
      await writeKeyless(this.folder(`CONF-${name}`), root);
      if (name === 'nomaster') await writeFile(join(root, 'cache', '.root_key'), 'no-such-key');
    }
    const bad = this.folder('CONF-bad');
    await mkdir(bad);
    // The list is never closed: the parser stops at the colon, in column 9 of line 3.
    const text = 'interface: 127.0.0.1\nfile_roots: [a, b\nlog_file: x\n';
    for (const file of ['master', 'minion']) await writeFile(join(bad, file), text);
  }
}

/** True while the process of a job file lives. An empty file was just made. */
function isAlive(file: Buffer): boolean {
  if (file.length === 0) return true;
  const job = unpack(file);
  const pid = isMap(job) ? intOf(job, 'pid') : undefined;
  if (pid === undefined) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** The hook `keys-reset`, in the folders that {@link writeKeyless} made. */
export async function resetKeys(root: string): Promise<void> {
  await rm(join(root, 'pki'), { recursive: true, force: true });
  for (const [shelf, ids] of SHELVES) {
    const dir = join(root, 'pki', shelf);
    await mkdir(dir, { recursive: true });
    for (const id of ids) await copyFile(join(LAB, 'keys', `${id}.pub`), join(dir, id));
  }
}

/** Writes the configuration of a master that is not running, and makes its folders below `root`. */
export async function writeKeyless(configDir: string, root: string): Promise<void> {
  await mkdir(configDir, { recursive: true });
  for (const name of ['pki', 'cache', 'sock']) {
    await mkdir(join(root, name), { recursive: true, mode: 0o700 });
  }
  const lines = [
    `root_dir: ${root}`,
    `pki_dir: ${root}/pki`,
    `cachedir: ${root}/cache`,
    `sock_dir: ${root}/sock`,
    `pidfile: ${root}/master.pid`,
    `log_file: ${root}/log`,
    `user: ${userInfo().username}`,
  ];
  await writeFile(join(configDir, 'master'), `${lines.join('\n')}\n`);
}

/**
 * A configuration of the lab without what the sandbox decides: paths, ports, addresses.
 * @param root stands for `@ROOT@` or `@MROOT@`
 */
async function labConfig(file: string, root: string): Promise<SaltConfig> {
  const text = await readFile(join(LAB, file), 'utf8');
  const filled = text.replaceAll(/@M?ROOT@/g, root).replaceAll(/@(?:PUB|RET|API)@/g, '0');
  const given = Object.entries(parse(filled.replaceAll('@ID@', 'id')) as SaltConfig);
  const isPlace = /^(?:id|master|user|interface|pidfile|rest_cherrypy)$|_(?:port|dir|file)$/;
  return Object.fromEntries(
    given.filter(
      ([name]) => !isPlace.test(name) && !['cachedir', 'log_level_logfile'].includes(name),
    ),
  );
}

/** @param dir gets the lab's own files, which have to be there before the master's directory. */
async function startMaster(
  release: RecordedRelease,
  dir: string,
  postgres: TestPostgres,
): Promise<BrineMaster> {
  const settings = { env: { DATABASE_URL: postgres.url }, logLevel: 'warning' };
  await cp(join(LAB, 'srv'), join(dir, 'srv'), { recursive: true });
  await mkdir(join(dir, 'etc'));
  await copyFile(join(LAB, 'users.txt'), join(dir, 'etc', 'users.txt'));
  const config = await labConfig('master.yaml', dir);
  // Named, so that stock tools find returns and minion data: no stock salt is on this host's PATH.
  const brine = { event_framing: 'bare', minion_banks: release.slice(0, 4) };
  return BrineMaster.start({ ...config, brine }, settings);
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
