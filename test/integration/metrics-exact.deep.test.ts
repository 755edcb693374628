import { isDeepStrictEqual } from 'node:util';
import { getCounts } from '@brine/job-cache';
import { BrineMaster, endPool, freePorts, startPostgres, type TestPostgres } from '@brine/testing';
import { loadPauses, until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MINIONS = Array.from({ length: 4 }, (_, index) => `exact-${index}`);
const SERVICES = [
  'job-cache-returner',
  'req-gateway',
  'worker-pool-1',
  'worker-pool-2',
  'publisher',
  'event-bus',
];
/** What is typed while services die: jobs that go well, that fail, and of two functions. */
const COMMANDS = [
  ['*', 'test.ping'],
  ['*', 'cmd.run', 'exit 3'],
  ['exact-1', 'cmd.run,test.ping', 'echo,'],
  ['exact-[23]', 'test.echo', 'x'],
];
const SERVES_AGAIN_MS = 60_000;

describe('metrics equal what PostgreSQL counts', () => {
  let postgres: TestPostgres;
  let pool: pg.Pool;
  let master: BrineMaster;
  let port: number;

  beforeAll(async () => {
    postgres = await startPostgres();
    pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
    [port = 0] = await freePorts(1);
    master = await BrineMaster.start({
      brine: { workers: 2, postgres: { url: postgres.url }, metrics: { port } },
    });
    for (const id of MINIONS) await master.startMinion(id);
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
  });
  afterAll(async () => {
    await master.close();
    await endPool(pool);
    await postgres.stop();
  });

  async function text(accept = 'text/plain'): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { accept } });
    return answer.text();
  }

  /** Sums of a metric by some labels, over all series of all services. */
  async function told(name: string, by: readonly string[]): Promise<Record<string, number>> {
    const sums: Record<string, number> = {};
    for (const line of (await text()).split('\n')) {
      const [, series, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (series !== name) continue;
      const labelled = new Map<string, string>();
      for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
        labelled.set(label, value);
      }
      const key = by.map((label) => labelled.get(label) ?? '').join('|');
      sums[key] = (sums[key] ?? 0) + Number(value);
    }
    return sums;
  }

  async function stored(sql: string): Promise<Record<string, number>> {
    const { rows } = await pool.query<{ key: string; n: string }>(sql);
    return Object.fromEntries(rows.map(({ key, n }) => [key, Number(n)]));
  }

  async function expectExact(): Promise<void> {
    const fun = "array_to_string(fun, ',')";
    const jobs = `FROM brine.jobs WHERE origin = 0 GROUP BY 1`;
    const returns = 'FROM brine.returns GROUP BY 1';
    const success = 'NOT failed';
    const pairs: readonly [string, readonly string[], string][] = [
      ['salt_new_job_total', ['function'], `SELECT ${fun} AS key, count(*) AS n ${jobs}`],
      ['salt_jobs_published_total', ['fun'], `SELECT ${fun} AS key, count(*) AS n ${jobs}`],
      [
        'salt_expected_responses_total',
        ['function'],
        `SELECT ${fun} AS key, sum(cardinality(minions)) AS n ${jobs}`,
      ],
      [
        'salt_function_responses_total',
        ['function', 'success'],
        `SELECT fun || '|' || (${success}) AS key, count(*) AS n ${returns}`,
      ],
      [
        'salt_jobs_completed_total',
        ['fun', 'success'],
        `SELECT fun || '|' || (${success}) AS key, count(*) AS n ${returns}`,
      ],
      [
        'salt_responses_total',
        ['minion', 'success'],
        `SELECT id || '|' || (${success}) AS key, count(*) AS n ${returns}`,
      ],
      [
        'salt_job_duration_milliseconds_count',
        ['fun'],
        `SELECT fun AS key, count(*) AS n ${returns}`,
      ],
    ];
    for (const [name, by, sql] of pairs) {
      const differ = async (): Promise<object | undefined> => {
        const [sums, rows] = [await told(name, by), await stored(sql)];
        return isDeepStrictEqual(sums, rows) ? undefined : { name, sums, rows };
      };
      await expect.poll(differ).toBeUndefined();
    }
  }

  /** Counts of the list of jobs and the ledger of the same jobs, where they differ. */
  async function expectLedger(): Promise<void> {
    const { rows } = await pool.query<{ jid: string; states: Record<string, number> }>(
      `SELECT jid, jsonb_object_agg(state, n) AS states FROM (
         SELECT jid, state, count(*) AS n FROM brine.ledger GROUP BY jid, state
       ) AS counted GROUP BY jid ORDER BY jid DESC LIMIT 500`,
    );
    const counts = await getCounts(
      pool,
      rows.map(({ jid }) => jid),
    );
    const none = { waiting: 0, returned: 0, failed: 0, late: 0, never: 0 };
    for (const { jid, states } of rows) {
      expect(counts.get(jid), jid).toMatchObject({ ...none, ...states });
    }
  }

  async function kill(service: string): Promise<void> {
    const pidOf = async (): Promise<number | undefined> =>
      (await master.services()).find(({ name }) => name === service)?.pid;
    const pid = await pidOf();
    if (pid === undefined) throw new Error(`${service} does not run`);
    process.kill(pid, 'SIGKILL');
    const isBack = async (): Promise<boolean> => {
      const all = await master.services();
      const again = all.find(({ name }) => name === service);
      return again?.pid !== undefined && again.pid !== pid && all.every(({ ready }) => ready);
    };
    await until(`${service} is back, and all are ready`, isBack, { withinMs: SERVES_AGAIN_MS });
  }

  it('after each service was killed in turn while jobs ran', async () => {
    for (const service of SERVICES) {
      const typed = COMMANDS.map((args) => master.brine('salt', [...args, '-t', '15'], 120_000));
      // In the middle of the commands, not before they have begun.
      await loadPauses(300);
      await kill(service);
      await Promise.all(typed);
    }
    await master.waitForMinions(MINIONS);
    const { rows } = await pool.query<{ jobs: string; returns: string; failed: string }>(
      `SELECT (SELECT count(*) FROM brine.jobs) AS jobs, count(*) AS returns,
         count(*) FILTER (WHERE failed) AS failed FROM brine.returns`,
    );
    // What is compared is more than a few rows, and not of one kind.
    expect(Number(rows[0]?.jobs)).toBeGreaterThanOrEqual(SERVICES.length * COMMANDS.length);
    expect(Number(rows[0]?.returns)).toBeGreaterThan(SERVICES.length * COMMANDS.length);
    expect(Number(rows[0]?.failed)).toBeGreaterThanOrEqual(SERVICES.length);
    await expectExact();
    await expectLedger();
  }, 400_000);

  it('and the other metrics are told by the one endpoint, exemplars included', async () => {
    const open = await text('application/openmetrics-text; version=1.0.0');
    expect(open).toMatch(
      /salt_job_duration_milliseconds_bucket\{.*\} \d+ # \{trace_id="[0-9a-f]{32}"\}/,
    );
    expect(open.endsWith('# EOF\n')).toBe(true);
    expect(await told('salt_health_minions_total', [])).toEqual({ '': MINIONS.length });
    expect(Object.keys(await told('salt_health_last_heartbeat', ['minion'])).sort()).toEqual(
      MINIONS,
    );
    expect(await told('brine_keys', ['state', 'replica'])).toMatchObject({
      'accepted|worker-pool-1': MINIONS.length,
      'accepted|worker-pool-2': MINIONS.length,
    });
    const restarts = await told('brine_service_restarts_total', ['replica']);
    for (const service of SERVICES) expect(restarts[service]).toBeGreaterThanOrEqual(1);
    expect(Object.keys(await told('brine_stream_consumer_pending', ['consumer']))).toContain(
      'store',
    );
    expect(await told('brine_stream_bytes', ['stream'])).toHaveProperty('EVENTS');
    for (const name of [
      'salt_master_requests_handled_total',
      'salt_master_requests_duration_milliseconds_count',
      'salt_events_fired_total',
      'salt_master_connected_minions_count',
      'salt_process_open_fds',
      'brine_gateway_request_seconds_count',
      'brine_publisher_sent_total',
      'brine_aes_epoch_age_seconds',
      'brine_store_batch_seconds_count',
    ]) {
      expect(Object.values(await told(name, []))[0], name).toBeGreaterThan(0);
    }
    // Known minions need no new log-in when services come back, so a new minion must log in.
    await master.startMinion('late');
    await master.acceptKeys(['late']);
    await expect
      .poll(async () => (await told('salt_auth_attempts_total', ['result']))['success'])
      .toBeGreaterThanOrEqual(1);
  });
});
