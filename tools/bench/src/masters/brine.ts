import { chmod, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningPostgresUrl } from '@brine/postgres-server';
import { type SaltHome, type SaltPorts, type SaltProcess, SaltSandbox } from '@brine/testing';
import pg from 'pg';
import { ProcessTree } from '../measure/process-tree.ts';
import { endProcess, startProcess, timeCommand } from './commands.ts';
import {
  type CommandRun,
  COMMON_CONFIG,
  type MasterOptions,
  type MasterUnderTest,
} from './master.ts';
import { waitUntilServing } from './serving.ts';

/** A first start sets up PostgreSQL and may install nats-server. */
const READY_TIMEOUT_MS = 120_000;
const COMMAND_TIMEOUT_MS = 180_000;
const POLL_MS = 20;

/** Jobs of the last day as `test.ping` leaves them, written as pgjsonb would (origin 1). */
const FILL_JOBS = `
WITH made AS (
  SELECT to_char(now() - make_interval(secs => n * 80000.0 / $1), 'YYYYMMDDHH24MISSUS') AS jid, n
  FROM generate_series(1, $1::integer) AS n
)
INSERT INTO brine.jobs (jid, load, origin, minions)
SELECT jid, jsonb_build_object('jid', jid, 'fun', 'test.ping', 'arg', '[]'::jsonb, 'tgt', '*',
  'tgt_type', 'glob', 'user', 'root', 'ret', '', 'cmd', 'publish'), 1, '{filled}'
FROM made ON CONFLICT DO NOTHING`;

/** A Brine master of a checkout that is built, as `brine master` starts it. */
export class BrineUnderTest implements MasterUnderTest {
  readonly name = 'brine' as const;
  readonly home: SaltHome & SaltPorts;
  readonly tree: ProcessTree;
  readonly startMs: number;
  readonly #checkout: string;
  readonly #options: MasterOptions;
  readonly #sandbox: SaltSandbox;
  readonly #process: SaltProcess;
  #pool: pg.Pool | undefined;

  private constructor(parts: Parts, process: SaltProcess, pid: number, startMs: number) {
    this.#checkout = parts.checkout;
    this.#options = parts.options;
    this.#sandbox = parts.sandbox;
    this.home = parts.home;
    this.#process = process;
    this.tree = new ProcessTree(pid);
    this.startMs = startMs;
  }

  /** Starts a master from the checkout at `checkout` and waits until it serves. */
  static async start(checkout: string, options: MasterOptions = {}): Promise<BrineUnderTest> {
    const sandbox = await SaltSandbox.create();
    // PostgreSQL refuses to run as root and must reach its directory as another user.
    await chmod(sandbox.dir, 0o711);
    const home = await sandbox.master({ ...COMMON_CONFIG, ...options.config });
    for (const dir of [home.configDir, home.cacheDir]) await chmod(dir, 0o711);
    return BrineUnderTest.#run({ checkout, options, sandbox, home });
  }

  static async #run(parts: Parts): Promise<BrineUnderTest> {
    const startedAt = performance.now();
    const started = startProcess({
      command: process.execPath,
      args: [programOf(parts.checkout), 'master', '-c', parts.home.configDir, '-l', 'warning'],
      env: { ...environment(parts.sandbox), ...parts.options.env },
      logFile: parts.home.logFile,
    });
    try {
      await Promise.all([
        waitUntilServing(parts.home, READY_TIMEOUT_MS),
        waitUntilReady(parts.home.cacheDir, started.pid),
      ]);
      const startMs = performance.now() - startedAt;
      return new BrineUnderTest(parts, started, started.pid ?? 0, startMs);
    } catch (cause) {
      const log = await started.log();
      await started.stop();
      await parts.sandbox.close();
      throw new Error(`Brine did not start:\n${log.slice(-4_000)}`, { cause });
    }
  }

  async countReturns(jids: readonly string[]): Promise<number> {
    const pool = await this.#database();
    const query = 'SELECT count(*) AS count FROM brine.returns WHERE jid = ANY($1)';
    const { rows } = await pool.query<{ count: string }>(query, [jids]);
    return Number(rows[0]?.count);
  }

  async fillStore(jobs: number): Promise<void> {
    const pool = await this.#database();
    await pool.query(FILL_JOBS, [jobs]);
    await pool.query('ANALYZE brine.jobs');
  }

  /** Its own PostgreSQL, by the files that it keeps beside its data. */
  async #database(): Promise<pg.Pool> {
    if (this.#pool !== undefined) return this.#pool;
    const dir = join(this.home.cacheDir, 'brine', 'postgres');
    const url = runningPostgresUrl(dir);
    if (url === undefined) throw new Error(`no PostgreSQL runs below ${dir}`);
    this.#pool = new pg.Pool({ connectionString: url, max: 1 });
    this.#pool.on('error', (error) =>
      process.stderr.write(`bench: PostgreSQL: ${error.message}\n`),
    );
    return this.#pool;
  }

  async restart({ keepKeys }: { readonly keepKeys: boolean }): Promise<BrineUnderTest> {
    await this.#stop();
    // The AES key, the session keys and the serial are in NATS's files.
    const nats = join(this.home.cacheDir, 'brine', 'nats');
    if (!keepKeys) await rm(nats, { recursive: true, force: true });
    const { home } = this;
    const [checkout, options, sandbox] = [this.#checkout, this.#options, this.#sandbox];
    return BrineUnderTest.#run({ checkout, options, sandbox, home });
  }

  runCommand(command: 'salt' | 'salt-run', args: readonly string[]): Promise<CommandRun> {
    const name = command === 'salt' ? 'salt' : 'run';
    return timeCommand({
      program: process.execPath,
      args: [programOf(this.#checkout), name, '-c', this.home.configDir, ...args],
      env: environment(this.#sandbox),
      timeoutMs: COMMAND_TIMEOUT_MS,
    });
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.#sandbox.close();
  }

  async #stop(): Promise<void> {
    await this.#pool?.end();
    await endProcess(this.#process);
  }
}

interface Parts {
  readonly checkout: string;
  readonly options: MasterOptions;
  readonly sandbox: SaltSandbox;
  readonly home: SaltHome & SaltPorts;
}

function programOf(checkout: string): string {
  return join(checkout, 'apps', 'cli', 'bin', 'brine.mjs');
}

/** A private environment that still finds what was installed once: nats-server. */
function environment(sandbox: SaltSandbox): Record<string, string> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '/root', '.cache');
  return { ...sandbox.env(), XDG_CACHE_HOME: cache };
}

/** Waits until the supervisor says that all its services are ready. */
async function waitUntilReady(cacheDir: string, pid: number | undefined): Promise<void> {
  const path = join(cacheDir, 'brine', 'services.json');
  const until = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const state = await readServices(path);
    const ours = state?.pid === pid ? (state?.services ?? []) : [];
    if (ours.length > 0 && ours.every((one) => one.state === 'ready')) return;
    if (Date.now() > until) throw new Error(`services not ready: ${JSON.stringify(ours)}`);
    await sleep(POLL_MS);
  }
}

interface Services {
  readonly pid: number;
  readonly services: readonly { readonly state: string }[];
}

async function readServices(path: string): Promise<Services | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Services;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
