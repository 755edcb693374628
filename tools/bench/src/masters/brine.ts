import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runningPostgresUrl } from '@brine/postgres-server';
import { BrineMaster, waitForPort } from '@brine/testing';
import pg from 'pg';
import { ProcessTree } from '../measure/process-tree.ts';
import { COMMAND_TIMEOUT_MS, GRACE_MS } from './commands.ts';
import {
  type CommandRun,
  COMMON_CONFIG,
  type MasterOptions,
  type MasterUnderTest,
} from './master.ts';
import { timeUntilServing } from './serving.ts';

const SERVICE_READY_MS = 30_000;

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
  readonly home: BrineMaster['home'];
  readonly tree: ProcessTree;
  readonly startMs: number;
  readonly #master: BrineMaster;
  #pool: pg.Pool | undefined;

  private constructor(master: BrineMaster, servedMs: number) {
    this.#master = master;
    this.home = master.home;
    this.tree = new ProcessTree(master.pid ?? 0);
    this.startMs = Math.max(master.startMs, servedMs);
  }

  /** Starts a master from the checkout at `checkout` and waits until it serves. */
  static async start(checkout: string, options: MasterOptions = {}): Promise<BrineUnderTest> {
    let serving = Promise.resolve(0);
    // Salt's default; the masters of tests wait less.
    const config = { ...COMMON_CONFIG, gather_job_timeout: 10, ...options.config };
    const master = await BrineMaster.start(config, {
      env: options.env ?? {},
      logLevel: 'warning',
      program: join(checkout, 'apps', 'cli', 'bin', 'brine.mjs'),
      graceMs: GRACE_MS,
      firstStart: true,
      onHome: (home) => {
        serving = timeUntilServing(home);
        // Of a master that does not start, its own error is thrown.
        serving.catch(() => undefined);
      },
    });
    return new BrineUnderTest(master, await serving);
  }

  async countReturns(jids: readonly string[]): Promise<number> {
    const query = 'SELECT count(*) AS count FROM brine.returns WHERE jid = ANY($1)';
    const { rows } = await this.#database().query<{ count: string }>(query, [jids]);
    return Number(rows[0]?.count);
  }

  async fillStore(jobs: number): Promise<void> {
    await this.#database().query(FILL_JOBS, [jobs]);
    await this.#database().query('ANALYZE brine.jobs');
  }

  /** Its own PostgreSQL, by the files that it keeps beside its data. */
  #database(): pg.Pool {
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
    await this.#pool?.end();
    let serving = Promise.resolve(0);
    await this.#master.restart(async () => {
      const stateDir = join(this.home.cacheDir, 'brine');
      // The services of the last run were ready.
      await rm(join(stateDir, 'services.json'), { force: true });
      // The AES key, the session keys and the serial are in NATS's files.
      if (!keepKeys) await rm(join(stateDir, 'nats'), { recursive: true, force: true });
      serving = timeUntilServing(this.home);
      serving.catch(() => undefined);
    });
    return new BrineUnderTest(this.#master, await serving);
  }

  /** One of its services does. */
  serveHttp(port: number): Promise<void> {
    return waitForPort(port, SERVICE_READY_MS);
  }

  runCommand(command: 'salt' | 'salt-run', args: readonly string[]): Promise<CommandRun> {
    return this.#master.brine(command === 'salt' ? 'salt' : 'run', args, COMMAND_TIMEOUT_MS);
  }

  async close(): Promise<void> {
    await this.#pool?.end();
    await this.#master.close();
  }
}
