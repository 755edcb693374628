import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type {
  SaltConfig,
  SaltHome,
  SaltOutput,
  SaltProcess,
  SaltSandbox,
  SaltVenv,
} from '@brine/testing';
import { until } from '@brine/testing/waits';
import { intOf, isMap, unpack } from '@brine/wire';
import { parse } from 'yaml';
import { FIXTURES } from './recorded-cases.ts';

const LAB = join(FIXTURES, 'lab');
const DEAD = 'dead1.example';
/** The minions of the lab; the last one is stopped. */
export const MINIONS = ['web1.example', 'web2.example', 'db1.example', DEAD];
const LIVE = MINIONS.filter((id) => id !== DEAD);
/** Of the lab of 3008; in that of 3006 every part is 3006. */
const OLDER = ['web2.example', DEAD];
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

/** What a lab stands on. */
export interface LabGround {
  readonly sandbox: SaltSandbox;
  /** Python with the lab's release of Salt. */
  readonly venv: SaltVenv;
  /** The configuration folder for the stock tools of the lab's release. */
  readonly stockConfig: string;
  /** Where minions ask the master. */
  readonly retPort: number;
}

/** The lab of the recordings, whatever its master: three live minions and one that was stopped. */
export abstract class CaseLab {
  readonly sandbox: SaltSandbox;
  readonly venv: SaltVenv;
  readonly stockConfig: string;
  readonly #retPort: number;
  readonly #minions = new Map<string, { readonly home: SaltHome; process: SaltProcess }>();

  protected constructor({ sandbox, venv, stockConfig, retPort }: LabGround) {
    this.sandbox = sandbox;
    this.venv = venv;
    this.stockConfig = stockConfig;
    this.#retPort = retPort;
  }

  /** The hook `jobs-clear`: no job is in the job cache, nor in the files for stock tools. */
  abstract clearJobs(): Promise<void>;

  /** Ends all of it and removes its directories. */
  abstract close(): Promise<void>;

  /** Starts the minions, and writes the folders that the cases name. */
  protected async startMinions(older: SaltVenv): Promise<void> {
    await this.#addFolders();
    for (const id of MINIONS) await this.#startMinion(id, OLDER.includes(id) ? older : this.venv);
  }

  /** Makes the minions know the lab's module, pillar and mine, and stops the one. */
  protected async teachMinions(
    salt: (args: readonly string[]) => Promise<SaltOutput>,
  ): Promise<void> {
    for (const fun of ['saltutil.sync_modules', 'saltutil.refresh_pillar', 'mine.update']) {
      const { stdout, stderr } = await salt(['*', fun, '--static', '--out', 'json', '-t', '60']);
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
    return join(this.sandbox.dir, name);
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

  async #startMinion(id: string, venv: SaltVenv): Promise<void> {
    const dir = join(this.sandbox.dir, `minion-${id}`);
    const common = await labConfig('minion.common.yaml', dir);
    const own = await labConfig(join('minions', `${id}.yaml`), dir);
    // For Brine's salt-call; a stock minion does not read it.
    const brine = { python: this.venv.python };
    const home = await this.sandbox.minion(id, this.#retPort, { ...common, ...own, brine });
    await mkdir(join(dir, 'work'));
    // cmd.run takes its shell from here; a recorded text begins with its name.
    const env = { SHELL: '/bin/bash' };
    const process = this.sandbox.startMinion(venv, home, { logLevel: 'warning', env });
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

/** Puts the lab's states, pillar and users into a folder; gives a master's options for them. */
export async function labFiles(dir: string): Promise<SaltConfig> {
  await cp(join(LAB, 'srv'), join(dir, 'srv'), { recursive: true });
  await mkdir(join(dir, 'etc'));
  await copyFile(join(LAB, 'users.txt'), join(dir, 'etc', 'users.txt'));
  return labConfig('master.yaml', dir);
}
