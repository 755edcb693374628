// Counts of jobs in lists are those of the ledger, while services and PostgreSQL are killed.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { databaseUrlOf } from '@brine/ledger-check';
import { minionId, Swarm } from '@brine/swarm';
import { BrineMaster, freePorts } from '@brine/testing';
import { loadPauses, until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';

const MINIONS = 200;
const PREFIX = 'count-';
const PASSWORD = 'shared';
/** Slow minions answer after it. */
const DEADLINE_S = 4;
const LATE_MS = [5_500, 8_000] as const;
const VICTIMS = ['job-cache-returner', 'worker-pool', 'publisher', 'http-api', 'postgres'];
const ROUNDS = Number(process.env['BRINE_KILL_ROUNDS'] ?? 2);
/** Jobs that begin before each kill. */
const JOBS_AT_ONCE = 2;
const FEW = 20;
const STATES = ['waiting', 'returned', 'failed', 'late', 'never'] as const;
const LONG = { withinMs: 120_000 };

type Counts = Record<(typeof STATES)[number] | 'targeted' | 'unexpected', number>;
type Json = Record<string, unknown>;
interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

let master: BrineMaster;
let swarm: Swarm;
let base = '';
let log = '';
let token = '';
/** Jobs whose begin was acknowledged. */
const begun: string[] = [];

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  master = await BrineMaster.start({
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: { all: ['.*', '@runner', '@wheel', '@jobs'] } },
    netapi_enable_clients: ['local', 'runner'],
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true },
    brine: { workers: 2, job_deadline: DEADLINE_S },
  });
  log = join(master.sandbox.dir, 'swarm.jsonl');
  swarm = await Swarm.start({
    retPort: master.home.retPort,
    minions: MINIONS,
    idPrefix: PREFIX,
    keyPairs: 4,
    pkiDir: master.home.pkiDir,
    reconnectMs: [100, 500],
    returnTimeoutMs: [3_000, 6_000],
    returnSends: 20,
    behaviours: [
      { share: 0.1, retcode: 1 },
      { share: 0.05, delayMs: LATE_MS },
      { share: 0.03, delayMs: LATE_MS, retcode: 2 },
      { share: 0.05, answer: 'never' },
      { share: 0.05, answer: 'twice' },
      { share: 0.05, drop: true },
      { share: 0.2, delayMs: [100, DEADLINE_S * 1_000] },
    ],
    log,
  });
  await swarm.connect();
  const answer = await fetch(`${base}/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username: 'all', password: PASSWORD, eauth: 'sharedsecret' }),
  });
  token = answer.headers.get('x-auth-token') ?? '';
});
afterAll(async () => {
  await swarm?.close();
  await master?.close();
});

/** A read of `/v1`, again until it is answered. */
async function read<T>(path: string): Promise<T> {
  const ask = async (): Promise<{ json: T } | undefined> => {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(`${base}/v1${path}`, { headers });
    if (answer.status === 503) return undefined;
    expect([path, answer.status]).toEqual([path, 200]);
    return { json: (await answer.json()) as T };
  };
  return (await until(`${path} is answered`, ask, LONG)).json;
}

async function pagesOf<T>(path: string): Promise<readonly T[]> {
  const found: T[] = [];
  for (let after = ''; ;) {
    const { items, next } = await read<Page<T>>(`${path}${after}`);
    found.push(...items);
    if (next === null) return found;
    after = `&after=${encodeURIComponent(next)}`;
  }
}

/** The rows of a query, again until PostgreSQL answers. */
function query<T extends object>(text: string, values: readonly unknown[] = []): Promise<T[]> {
  const ask = async (): Promise<T[]> => {
    const { options } = loadMasterConfig({ configDir: master.home.configDir });
    const client = new pg.Client({ connectionString: await databaseUrlOf(options) });
    client.on('error', () => undefined); // It may be killed at any moment.
    try {
      await client.connect();
      return (await client.query<T>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  };
  return until<T[]>('PostgreSQL answers', ask, LONG);
}

/** What the view states of each job. */
async function ledgers(): Promise<ReadonlyMap<string, Counts>> {
  const sums = STATES.map((one) => `(count(*) FILTER (WHERE state = '${one}'))::integer AS ${one}`);
  const rows = await query<Counts & { jid: string }>(
    `SELECT jid, count(*)::integer AS targeted, ${sums.join(', ')},
       (count(*) FILTER (WHERE unexpected))::integer AS unexpected
     FROM brine.ledger GROUP BY jid ORDER BY jid`,
  );
  return new Map(rows.map(({ jid, ...counts }) => [jid, counts]));
}

/** What each way to ask gives for a job. */
async function waysOf(jid: string, listed: Counts | undefined): Promise<Record<string, unknown>> {
  const { counts } = await read<{ counts: Counts }>(`/jobs/${jid}`);
  const minions = await pagesOf<Json>(`/jobs/${jid}/minions?limit=120`);
  const added = Object.fromEntries(
    STATES.map((state) => [state, minions.filter((one) => one['state'] === state).length]),
  );
  const ids = new Set(minions.map(({ id }) => id));
  const unexpected = minions.filter((one) => one['unexpected'] === true).length;
  return { listed, counts, minions: { ...added, targeted: ids.size, unexpected } };
}

/** Compares all jobs that do not change meanwhile; gives their number. */
async function compare(): Promise<number> {
  const before = await ledgers();
  const lines = await pagesOf<{ jid: string; counts: Counts }>('/jobs?limit=40&hidden=true');
  expect(new Set(lines.map(({ jid }) => jid)).size).toBe(lines.length);
  const listed = new Map(lines.map(({ jid, counts }) => [jid, counts]));
  const ways = new Map<string, Record<string, unknown>>();
  for (const jid of before.keys()) ways.set(jid, await waysOf(jid, listed.get(jid)));
  const after = await ledgers();
  let compared = 0;
  for (const [jid, ledger] of before) {
    if (JSON.stringify(after.get(jid)) !== JSON.stringify(ledger)) continue;
    compared += 1;
    expect({ jid, ...ways.get(jid) }).toEqual({
      jid,
      listed: ledger,
      counts: ledger,
      minions: ledger,
    });
    const sum = STATES.reduce((total, state) => total + ledger[state], 0);
    expect([jid, sum]).toEqual([jid, ledger.targeted]);
  }
  return compared;
}

/** The filters of the list find the jobs that the ledger names. */
async function compareFilters(): Promise<void> {
  const all = [...(await ledgers())].reverse();
  const named = (is: (counts: Counts) => boolean): readonly string[] =>
    all.flatMap(([jid, counts]) => (is(counts) ? [jid] : []));
  const wanted: Record<string, readonly string[]> = {
    'state=open': named(({ waiting }) => waiting > 0),
    'state=closed': named(({ waiting }) => waiting === 0),
    'result=ok': named((one) => one.waiting + one.failed + one.late + one.never === 0),
    'result=failed': named(({ failed }) => failed > 0),
    'result=late': named(({ late }) => late > 0),
    'result=never': named(({ never }) => never > 0),
  };
  for (const [filter, jids] of Object.entries(wanted)) {
    const found = await pagesOf<{ jid: string }>(`/jobs?limit=40&hidden=true&${filter}`);
    expect([filter, found.map(({ jid }) => jid)]).toEqual([filter, jids]);
  }
}

/** The overview has as many returns as PostgreSQL. */
async function compareOverview(): Promise<void> {
  const { jobs } = await read<{ jobs: { open: number; perMinute: Record<string, number>[] } }>(
    '/overview',
  );
  const sum = (name: string): number =>
    jobs.perMinute.reduce((total, minute) => total + (minute[name] ?? 0), 0);
  const [stored] = await query(
    `SELECT (SELECT count(*)::integer FROM brine.jobs WHERE NOT hidden) AS jobs,
       count(*)::integer AS returns, (count(*) FILTER (WHERE failed))::integer AS failed
     FROM brine.returns JOIN brine.jobs USING (jid) WHERE NOT hidden`,
  );
  const shown = { jobs: sum('jobs'), returns: sum('returns'), failed: sum('failed') };
  expect({ open: jobs.open, ...shown }).toEqual({ open: 0, ...stored });
}

/** The runner has the targets and the returns of these jobs. */
async function compareRunner(jids: readonly string[]): Promise<void> {
  const all = await ledgers();
  for (const jid of jids) {
    const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
    const { Minions: minions = [], Result: result = {} } = JSON.parse(stdout) as {
      Minions?: string[];
      Result?: object;
    };
    const { targeted, unexpected, returned, failed, late } = all.get(jid) as Counts;
    const shown = [minions.length, Object.keys(result).length];
    expect([jid, ...shown]).toEqual([jid, targeted - unexpected, returned + failed + late]);
  }
}

const SOME = Array.from({ length: FEW }, (_, n) => minionId(PREFIX, MINIONS - 1 - n * 9));

/** A job by one of both doors; to some of them strangers return, too. */
async function begin(number: number): Promise<void> {
  const target = number % 3 === 0 ? `${PREFIX}*` : SOME;
  const jid = await (number % 2 === 0 ? publish(target, number) : command(target, number));
  if (jid === undefined) return;
  begun.push(jid);
  // The first minions are no targets of most jobs: these returns are unexpected.
  if (number % 4 === 1) await swarm.returns({ jids: [jid], count: 15, inFlight: 5 });
}

/** A job by `/v1`, sent again with its key until it is answered. */
async function publish(tgt: string | string[], number: number): Promise<string> {
  const tgtType = typeof tgt === 'string' ? 'glob' : 'list';
  const body = JSON.stringify({ tgt, tgtType, fun: 'test.echo', arg: [number] });
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': `job-${number}`,
  };
  const ask = async (): Promise<string | undefined> => {
    const answer = await fetch(`${base}/v1/jobs`, { method: 'POST', headers, body });
    if (answer.status === 503) return undefined;
    const json = (await answer.json()) as Json;
    expect({ status: answer.status, json }).toMatchObject({ status: 202 });
    return String(json['jid']);
  };
  return until(`job ${number} begins`, ask, LONG);
}

/** A job by the clear channel; undefined if its client got no answer. */
async function command(target: string | string[], number: number): Promise<string | undefined> {
  const { cacheDir: cachedir } = master.home;
  const how = { waitMs: 0, requestTimeoutMs: 5_000, sends: 3 };
  const { jid } = await swarm.publish({
    cachedir,
    target,
    fun: 'test.echo',
    arg: [number],
    ...how,
  });
  return jid;
}

/** Kills a process by SIGKILL, of several in turn, and waits for the next one. */
async function kill(victim: string, round: number): Promise<void> {
  const pid = await until(`${victim} runs`, () => pidOf(victim, round), LONG);
  process.kill(pid, 'SIGKILL');
  const isAnother = (now: number | undefined): boolean => now !== undefined && now !== pid;
  await until(`${victim} runs again`, async () => isAnother(await pidOf(victim, round)), LONG);
}

async function pidOf(victim: string, round: number): Promise<number | undefined> {
  if (victim !== 'postgres') {
    const all = (await master.services()).filter(({ name }) => name.startsWith(victim));
    return all[round % all.length]?.pid;
  }
  const path = join(master.home.cacheDir, 'brine', 'postgres', 'data', 'postmaster.pid');
  const pid = Number((await readFile(path, 'utf8')).split('\n')[0]);
  return pid > 1 ? pid : undefined;
}

/** The returns that minions have an acknowledgement of, each as `jid id`. */
async function acknowledged(): Promise<ReadonlySet<string>> {
  const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1);
  const acked = lines
    .map((line) => JSON.parse(line) as Json)
    .filter(({ e }) => e === 'acked')
    .map(({ jid, id }) => `${String(jid)} ${String(id)}`);
  return new Set(acked);
}

it('counts in lists are those of the ledger, whatever is killed', async () => {
  const compared: number[] = [];
  const open: Promise<void>[] = [];
  let number = 0;
  const begins = (): void => void open.push(begin((number += 1)));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const victim of VICTIMS) {
      const before = begun.length;
      for (let job = 0; job < JOBS_AT_ONCE; job += 1) {
        begins();
        await loadPauses(200);
      }
      await kill(victim, round);
      begins();
      await until(`jobs begin beside the kill of ${victim}`, () => begun.length > before, LONG);
    }
    compared.push(await compare());
  }
  await Promise.all(open);
  await until(
    'all that was acknowledged is stored',
    async () => {
      const rows = await query<{ name: string }>(
        `SELECT jid || ' ' || id AS name FROM brine.returns`,
      );
      const stored = new Set(rows.map(({ name }) => name));
      expect([...(await acknowledged())].filter((name) => !stored.has(name))).toEqual([]);
      return true;
    },
    LONG,
  );
  await until(
    'no job is open',
    async () => [...(await ledgers()).values()].every(({ waiting }) => waiting === 0),
    LONG,
  );
  // Late returns may still come.
  const all = await ledgers();
  await until('all jobs rest', async () => (await compare()) === all.size, LONG);
  await compareFilters();
  await compareOverview();
  await compareRunner(begun.slice(-10));
  expect(begun.filter((jid) => !all.has(jid))).toEqual([]);
  // A comparison of nothing finds nothing.
  const sums = [...(await ledgers()).values()];
  const total = (name: keyof Counts): number => sums.reduce((sum, one) => sum + one[name], 0);
  process.stdout.write(
    `${begun.length} jobs, ${total('targeted')} minions: ${STATES.map(
      (state) => `${total(state)} ${state}`,
    ).join(', ')}, ${total('unexpected')} unexpected; compared ${compared.join(', ')}\n`,
  );
  for (const name of ['returned', 'failed', 'late', 'never', 'unexpected'] as const) {
    expect([name, total(name)]).not.toEqual([name, 0]);
  }
  expect(compared.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
}, 600_000);
