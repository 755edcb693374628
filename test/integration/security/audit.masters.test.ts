import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PrivateKey } from '@brine/crypt';
import { BrineMaster, startPostgres, type TestPostgres, ZmtpPeer } from '@brine/testing';
import { authLoad, TestPeer } from '@brine/testing/peers';
import { until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { clear, sealed } from '../../../tools/request-table/frames.ts';
import { outcomeOf } from '../../../tools/request-table/outcome.ts';

/*
 * What is on record of a whole master: written by its services, kept in PostgreSQL, and every touch
 * of it named by `brine run audit.verify`.
 */

interface Verified {
  readonly intact: boolean;
  readonly rows: number;
  readonly faults: readonly string[];
}

/** Minions, by the version of payloads that they speak. */
const FLEET = { older: 2, newer: 3, newest: 3 } as const;

let postgres: TestPostgres;
let master: BrineMaster;
let database: pg.Client;

beforeAll(async () => {
  postgres = await startPostgres();
  master = await BrineMaster.start(
    { minimum_auth_version: 1, brine: { workers: 2 } },
    { env: { DATABASE_URL: postgres.url } },
  );
  await master.startMinion('one');
  await master.acceptKeys(['one']);
  await master.waitForMinions(['one']);
  database = new pg.Client({ connectionString: postgres.url });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await master?.close();
  await postgres?.stop();
});

async function run<T>(...args: readonly string[]): Promise<T> {
  const { stdout, stderr, code } = await master.brine('run', [...args, '--out', 'json']);
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
  return JSON.parse(stdout) as T;
}

/** Undone afterwards, so that each case begins with an untouched record. */
async function afterTouch(sql: string): Promise<readonly string[]> {
  await database.query('CREATE TABLE brine.kept AS SELECT * FROM brine.audit');
  await database.query(sql);
  const { faults, intact } = await run<Verified>('audit.verify');
  expect(intact).toBe(faults.length === 0);
  await database.query('TRUNCATE brine.audit');
  await database.query('INSERT INTO brine.audit SELECT * FROM brine.kept');
  await database.query('DROP TABLE brine.kept');
  return faults;
}

it('key acts, log-ins and publishes are on record, without arguments, and intact', async () => {
  await until(
    'all acts are on record',
    async () => {
      // The worker that took a log-in tells of its proof at the next sealed request that it opens.
      await master.brine('salt', ['one', 'test.ping']);
      const rows = await run<Record<string, string | number>[]>('audit.list', 'limit=500');
      const told = (kind: string): (string | number | undefined)[] =>
        rows.filter((row) => row['kind'] === kind).map((row) => row['outcome']);
      expect(told('key')).toContain('pending to accepted');
      expect(told('login')).toContain('pend');
      const logIn = (proof: string): Record<string, string | number> | undefined =>
        rows.find((row) => row['outcome'] === 'accept' && row['proof'] === proof);
      expect(logIn('unproven')).toMatchObject({ kind: 'login', claimed: 'one' });
      expect(logIn('sealed request')).toMatchObject({ kind: 'login', principal: 'one' });
      expect(told('publish')).toContain('done');
      const published = rows.find((row) => row['kind'] === 'publish');
      expect(published).toMatchObject({ principal: 'root', fun: 'test.ping', method: 'key' });
      expect(published?.['argsHash']).toHaveLength(64);
      return true;
    },
    { withinMs: 30_000 },
  );
  expect(await run<Verified>('audit.verify')).toMatchObject({ intact: true, faults: [] });
});

it.each([
  ['an edit', `UPDATE brine.audit SET body = replace(body, '}', ', "x": 1}') WHERE n = 1`],
  ['a deletion', 'DELETE FROM brine.audit WHERE n = 1'],
  [
    'rows that changed places',
    `UPDATE brine.audit a SET body = b.body, seal = b.seal FROM brine.audit b
      WHERE a.writer = b.writer AND a.n = 1 AND b.n = 2`,
  ],
])('%s is named', async (_what, sql) => {
  const faults = await afterTouch(sql);
  expect(faults.length).toBeGreaterThan(0);
  expect(await run<Verified>('audit.verify')).toMatchObject({ intact: true });
});

it('whom a raised minimum_auth_version cuts off is what the doctor said', async () => {
  const ids = Object.keys(FLEET) as (keyof typeof FLEET)[];
  const key = await PrivateKey.generate(2048);
  const accepted = async (): Promise<readonly string[]> => {
    const peer = await ZmtpPeer.open({ port: master.home.retPort });
    const found: string[] = [];
    for (const id of ids) {
      const sent = clear(authLoad({ id, key }), FLEET[id]);
      const outcome = outcomeOf(await peer.request(sent.body, 20_000), sent);
      if (outcome.includes('accepted')) found.push(id);
    }
    peer.close();
    return found;
  };
  expect(await accepted()).toEqual([]);
  await master.acceptKeys(ids);
  expect(await accepted()).toEqual(ids);

  // A log-in counts once its minion has proven that the key is its own: by a request that the
  // worker opens which took the log-in.
  const prove = async (): Promise<void> => {
    for (const id of ids) {
      const peer = new TestPeer(id, key, master.home.retPort);
      await peer.signIn();
      const sealedWith = FLEET[id] < 3 ? peer.aes : peer.session;
      const how = { sealedWith, version: FLEET[id], outerId: id };
      const sent = sealed(sealedLoad(peer, '_file_envs'), how);
      expect(outcomeOf(await peer.raw(sent.body), sent)).toContain('base');
      peer.close();
    }
  };
  const predicted = async (): Promise<Record<string, readonly string[]>> => {
    await prove();
    const { stdout } = await master.brine('doctor', ['--out', 'json']);
    const findings = JSON.parse(stdout) as { text: string; minions?: readonly string[] }[];
    return Object.fromEntries(
      findings.flatMap(({ text, minions = [] }) => {
        const raised = /^minimum_auth_version: (\d) would cut off/.exec(text)?.[1];
        return raised === undefined ? [] : [[raised, minions]];
      }),
    );
  };
  const cutOff: Record<string, readonly string[]> = { 2: [], 3: ['older'] };
  await expect.poll(predicted, { timeout: 60_000, interval: 500 }).toEqual(cutOff);
  const dir = join(master.home.configDir, 'master.d');
  await mkdir(dir, { recursive: true });
  for (const [minimum, minions] of Object.entries(cutOff)) {
    await writeFile(join(dir, 'raised.conf'), `minimum_auth_version: ${minimum}\n`);
    await master.restart();
    expect(await accepted()).toEqual(ids.filter((id) => !minions.includes(id)));
  }
}, 240_000);
