/**
 * What the counts of jobs cost where returns are stored, beside another checkout of Brine: CPU per
 * return of this process and of PostgreSQL's connections. Both trees store the same, a statement
 * each in turn, so that other work on the machine costs both the same. Jobs come before returns.
 * Run: npx tsx --conditions=source libs/job-cache/bench/counts.ts <checkout> [returns] [rounds]
 */
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startPostgres } from '@brine/postgres-server';
import { mapOf, pack } from '@brine/wire';
import pg from 'pg';
import { JobCache } from '../src/job-cache.ts';
import type { JobRow, ReturnRow } from '../src/save/rows.ts';

const OTHER = resolve(process.argv[2] ?? '.');
const RETURNS = Number(process.argv[3] ?? 20_000);
const ROUNDS = Number(process.argv[4] ?? 12);
const BATCH = 500;
const HOUR_MS = 3_600_000;
const TEXT = '12:00:00 up 1 day';

/** A load: its jobs, and how many returns come in one statement. */
interface Load {
  readonly name: string;
  readonly jobs: number;
  readonly returns: number;
  readonly batch: number;
}

const LOADS: readonly Load[] = [
  { name: 'one job of all', jobs: 1, returns: RETURNS, batch: BATCH },
  { name: 'a job for each', jobs: RETURNS, returns: RETURNS, batch: BATCH },
  { name: 'a job for each, 20 a statement', jobs: RETURNS / 4, returns: RETURNS / 4, batch: 20 },
];

/** A tree under measurement, with a PostgreSQL of its own. */
interface Tree {
  readonly cache: JobCache;
  readonly pool: pg.Pool;
  readonly close: () => Promise<void>;
}

/** CPU in us: of this process, and of PostgreSQL's connections. */
interface Cpu {
  readonly ours: number;
  readonly server: number;
}

/** Something of the other checkout, and of this one. */
type Pair<T> = readonly [before: T, after: T];

async function connectionsOf({ pool }: Tree): Promise<readonly number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'brine job-cache'`,
  );
  return rows.map(({ pid }) => pid);
}

/** The first field of the file is the time on a CPU in ns. */
function serverCpu(pids: readonly number[]): number {
  const ns = pids.map((pid) => Number.parseInt(readFileSync(`/proc/${pid}/schedstat`, 'utf8'), 10));
  return ns.reduce((sum, one) => sum + one, 0) / 1000;
}

/** Stores the same in both trees, a step each in turn; resolves with the CPU that each used. */
async function inTurns<Step>(
  [before, after]: Pair<Tree>,
  steps: readonly Step[],
  take: (tree: Tree, step: Step) => Promise<unknown>,
): Promise<Pair<Cpu>> {
  const pids = [await connectionsOf(before), await connectionsOf(after)] as const;
  const start = [serverCpu(pids[0]), serverCpu(pids[1])] as const;
  const measured = async (tree: Tree, step: Step): Promise<number> => {
    const used = process.cpuUsage();
    await take(tree, step);
    const { user, system } = process.cpuUsage(used);
    return user + system;
  };
  const ours = [0, 0] as [number, number];
  for (const [n, step] of steps.entries()) {
    if (n % 2 === 0) ours[0] += await measured(before, step);
    ours[1] += await measured(after, step);
    if (n % 2 !== 0) ours[0] += await measured(before, step);
  }
  return [
    { ours: ours[0], server: serverCpu(pids[0]) - start[0] },
    { ours: ours[1], server: serverCpu(pids[1]) - start[1] },
  ];
}

function cut<Row>(rows: readonly Row[], size: number): Row[][] {
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, n) =>
    rows.slice(n * size, (n + 1) * size),
  );
}

let made = 0;

function rowsOf(load: Load): { jobs: JobRow[]; returns: ReturnRow[] } {
  const now = Date.now();
  const day = new Date(now).toISOString().slice(0, 10).replaceAll('-', '');
  const first = made;
  made += load.jobs;
  const jid = (n: number): string => `${day}${String(first + n).padStart(12, '0')}`;
  const each = load.returns / load.jobs;
  const id = (n: number): string => `minion-${n % each}.example.org`;
  const job = pack(mapOf({ cmd: 'publish', fun: 'cmd.run', arg: ['uptime'], tgt: '*' }));
  const place = { incarnation: 'b', publishedAt: now, deadlineAt: now + HOUR_MS };
  const minions = Array.from({ length: each }, (_, n) => id(n));
  const asked = { load: job, principal: 'root', user: 'root', fun: 'cmd.run', tgt: '*' };
  const jobs = Array.from({ length: load.jobs }, (_, n): JobRow => {
    return { jid: jid(n), ...asked, tgtType: 'glob', minions, missing: [], seq: n, ...place };
  });
  const returns = Array.from({ length: load.returns }, (_, n): ReturnRow => {
    const of = jid(Math.floor(n / each));
    const value = mapOf({ stdout: TEXT, stderr: '', pid: n, retcode: 0 });
    const ret = { cmd: '_return', id: id(n), jid: of, fun: 'cmd.run', fun_args: ['uptime'] };
    const whole = mapOf({ ...ret, return: value, retcode: 0, success: true });
    return { jid: of, id: id(n), load: pack(whole), receivedAt: now, incarnation: 'b', seq: n };
  });
  return { jobs, returns };
}

function quartiles(values: readonly number[], digits: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  const [low, median, high] = [at(0.25), at(0.5), at(0.75)].map((one) => one.toFixed(digits));
  return `${median} (${low} to ${high})`;
}

const other = pathToFileURL(join(OTHER, 'libs/job-cache/src/job-cache.ts')).href;
const { JobCache: OtherCache } = (await import(other)) as { readonly JobCache: typeof JobCache };

async function treeOf(Cache: typeof JobCache): Promise<Tree> {
  const dir = await mkdtemp(join(tmpdir(), 'brine-bench-'));
  await chmod(dir, 0o755);
  const server = await startPostgres({ dir });
  const cache = await Cache.connect(server.url);
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  // The server ends the connection at the stop.
  pool.on('error', () => undefined);
  const close = async (): Promise<void> => {
    await pool.end();
    await cache.close();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  };
  return { cache, pool, close };
}

const sum = ({ ours, server }: Cpu): number => ours + server;
const ratio = ([before, after]: Pair<number>): number => after / before;

const trees = [await treeOf(OtherCache), await treeOf(JobCache)] as const;
try {
  for (const load of LOADS) {
    const found = { ours: [], server: [], returns: [], withJobs: [] } as Record<string, number[]>;
    const us: Pair<number[]> = [[], []];
    for (let round = -1; round < ROUNDS; round += 1) {
      const { jobs, returns } = rowsOf(load);
      const [jobs0, jobs1] = await inTurns(trees, cut(jobs, load.batch), ({ cache }, some) =>
        cache.saveJobs(some),
      );
      const [one0, one1] = await inTurns(trees, cut(returns, load.batch), ({ cache }, some) =>
        cache.saveReturns(some),
      );
      // The first round warms up.
      if (round < 0) continue;
      found['ours']?.push(ratio([one0.ours, one1.ours]));
      found['server']?.push(ratio([one0.server, one1.server]));
      found['returns']?.push(ratio([sum(one0), sum(one1)]));
      found['withJobs']?.push(ratio([sum(one0) + sum(jobs0), sum(one1) + sum(jobs1)]));
      us[0].push(sum(one0) / load.returns);
      us[1].push(sum(one1) / load.returns);
    }
    const [us0, us1] = us.map((values) => quartiles(values, 1));
    console.log(`${load.name}: us of CPU per return before ${us0}, with counts ${us1}`);
    for (const [part, values] of Object.entries(found)) {
      console.log(`  ratio, ${part}: ${quartiles(values, 3)}`);
    }
  }
} finally {
  for (const tree of trees) await tree.close();
}
