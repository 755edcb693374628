import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { type Jid, jobReturnTag } from '@brine/job';
import { getCounts } from '@brine/job-cache';
import { Metrics } from '@brine/service';
import { createLog } from '@brine/telemetry';
import {
  endPool,
  returnLoad,
  startNats,
  startPostgres,
  type TestNats,
  type TestPostgres,
} from '@brine/testing';
import { faultLasts, loadPauses } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Returner } from './start.ts';

const RETURNS = 600;
const FAULT_MS = 1_500;

let nats: TestNats;
let server: TestPostgres;
let pool: pg.Pool;
let worker: Bus;
let returner: Returner;
let stop: () => Promise<void>;
let jid: Jid;
let jobs = 0;

beforeAll(async () => {
  [nats, server] = await Promise.all([startNats(), startPostgres()]);
  worker = await nats.connect('worker-pool');
  // Ours may write whatever the server's default is, or it could not be mended.
  const options = '-c default_transaction_read_only=off';
  pool = new pg.Pool({ connectionString: server.superuserUrl, max: 2, options });
});

afterAll(async () => {
  await endPool(pool);
  await Promise.all([nats.close(), server.stop()]);
});

beforeEach(async () => {
  jid = `20261122100000${String((jobs += 1)).padStart(6, '0')}` as Jid;
  const stopping = new AbortController();
  const bus = await nats.connect('job-cache-returner');
  returner = new Returner({
    bus,
    databaseUrl: server.url,
    keepMs: 0,
    log: createLog({ service: 'test', level: 'quiet' }),
    telemetry: { recordSpan: () => undefined },
    metrics: new Metrics(),
    signal: stopping.signal,
  });
  stop = async () => {
    stopping.abort();
    await returner.close();
    await bus.close();
  };
  await expect.poll(() => returner.ready).toBe(true);
});

afterEach(() => stop());

async function append(): Promise<void> {
  const writer = new EventWriter(worker);
  await Promise.all(
    Array.from({ length: RETURNS }, (_, n) => {
      const id = `m${n}`;
      const body = returnLoad(jid, id, true);
      const msgId = `ret:${jid}:${id}:x`;
      return writer.append({ kind: 'ret', tag: jobReturnTag(jid, id), body, msgId });
    }),
  );
}

async function stored(): Promise<number> {
  const text = 'SELECT count(*)::integer AS count FROM brine.returns WHERE jid = $1';
  return (await pool.query<{ count: number }>(text, [jid])).rows[0]?.count ?? 0;
}

/** Makes each statement that stores returns do this first. */
async function beforeEachInsert(body: string): Promise<() => Promise<unknown>> {
  await pool.query(`
    CREATE OR REPLACE FUNCTION public.fault() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN ${body}; RETURN NULL; END $$;
    CREATE TRIGGER fault BEFORE INSERT ON brine.returns
      FOR EACH STATEMENT EXECUTE FUNCTION public.fault()`);
  return () => pool.query('DROP TRIGGER fault ON brine.returns');
}

const raise = (state: string) => (): Promise<() => Promise<unknown>> =>
  beforeEachInsert(`RAISE EXCEPTION 'injected' USING ERRCODE = '${state}'`);

/** The state that a new connection finds. */
async function readOnlyOfAnother(): Promise<unknown> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ value: string }>(
      "SELECT current_setting('default_transaction_read_only') AS value",
    );
    return rows[0]?.value;
  } finally {
    await client.end();
  }
}

/** As a primary that became a standby answers on connections that are still open: 25006. */
async function becomeReadOnly(): Promise<() => Promise<unknown>> {
  const set = async (value: string): Promise<void> => {
    await pool.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await pool.query('SELECT pg_reload_conf()');
    // The server signals its backends before it makes another one.
    await expect.poll(readOnlyOfAnother).toBe(value);
  };
  await set('on');
  return () => set('off');
}

async function dropConnections(): Promise<() => Promise<unknown>> {
  let over = false;
  const dropping = (async () => {
    while (!over) {
      await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'brine job-cache'`);
      await loadPauses(2);
    }
  })();
  return () => {
    over = true;
    return dropping;
  };
}

test.each([
  ['a failover, read-only', becomeReadOnly],
  ['a full disk, 53100', raise('53100')],
  ['an error of the disk, 58030', raise('58030')],
  ['statements that take too long, 57014', raise('57014')],
  ['no memory, 53200', raise('53200')],
  ['a deadlock, 40P01', raise('40P01')],
])(
  '%s: nothing is lost, refused or acknowledged, and it ends by itself',
  async (_, begin) => {
    const end = await begin();
    await append();
    await expect.poll(() => returner.ready).toBe(false);
    await faultLasts(FAULT_MS);
    expect(await stored()).toBe(0);
    expect(returner.status).toMatchObject({ holding: true });
    await end();
    await expect.poll(stored).toBe(RETURNS);
    await expect.poll(() => returner.ready).toBe(true);
    const put = await pool.query('SELECT FROM brine.quarantine WHERE jid = $1', [jid]);
    expect(put.rowCount).toBe(0);
  },
  60_000,
);

test.each([
  ['connections that are cut all the time', dropConnections],
  ['a slow disk', () => beforeEachInsert('PERFORM pg_sleep(0.4)')],
])(
  '%s: all is stored once',
  async (_, begin) => {
    const end = await begin();
    await append();
    await faultLasts(FAULT_MS);
    await end();
    await expect.poll(stored).toBe(RETURNS);
    await expect.poll(() => returner.ready).toBe(true);
    // The job is born of one of the returns.
    await expect.poll(async () => (await getCounts(pool, [jid])).get(jid)).toBeDefined();
    const counts = { targeted: RETURNS, returned: RETURNS, unexpected: RETURNS - 1 };
    expect((await getCounts(pool, [jid])).get(jid)).toMatchObject(counts);
  },
  60_000,
);
