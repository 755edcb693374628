import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  BrineMaster,
  endPool,
  SaltSandbox,
  type SaltVenv,
  saltVenv,
  startPostgres,
  type TestPostgres,
} from '@brine/testing';
import { growsOld, until } from '@brine/testing/waits';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { python, returnerOptions } from '../stock-tools/stock-tools.ts';
import { placeModules, placeSite, writtenEvents } from './site.ts';

/*
 * event_return of a stock 3008.2 master and of Brine: Salt's own rawfile_json and pgjsonb beside
 * Brine's, both into one database, and a returner of the site in Python.
 */

const PGJSONB = fileURLToPath(new URL('../stock-tools/pgjsonb.py', import.meta.url));

interface Returned {
  readonly tag: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A row of `salt_events`, with its age in seconds. */
interface Row extends Returned {
  readonly age: number;
}

const RETURNERS = { event_return: ['rawfile_json', 'to_file', 'pgjsonb'], auto_accept: true };
/** Of the events that {@link CALL} makes, in their order. */
const TAGS = [/^salt\/run\/\d+\/new$/, /^my\/tag$/, /^salt\/run\/\d+\/ret$/];
const CALL = ['event.send', 'my/tag', '{"a": 1, "b": ["x", null]}'];

describe('event_return under stock Salt and under Brine', () => {
  let venv: SaltVenv;
  let stock: SaltSandbox;
  let place: SaltSandbox;
  let brine: BrineMaster;
  let stockHome: Awaited<ReturnType<SaltSandbox['master']>>;
  let postgres: TestPostgres;
  let pool: pg.Pool;
  let stockSite: Awaited<ReturnType<typeof placeSite>>;
  let brineSite: Awaited<ReturnType<typeof placeSite>>;

  const rawFile = (sandbox: SaltSandbox): string => join(sandbox.dir, 'raw.jsonl');

  async function rawEvents(sandbox: SaltSandbox): Promise<Returned[]> {
    const text = await readFile(rawFile(sandbox), 'utf8').catch(() => '');
    const lines = text.split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Returned);
  }

  const hasAll = (events: readonly Returned[]): boolean =>
    TAGS.every((wanted) => events.some(({ tag }) => wanted.test(tag)));

  beforeAll(async () => {
    venv = await saltVenv('3008.2');
    postgres = await startPostgres();
    pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
    stock = await SaltSandbox.create();
    stockSite = await placeSite(stock.dir);
    stockHome = await stock.master({
      ...stockSite,
      ...RETURNERS,
      ...returnerOptions(postgres.url),
      id: 'stock',
      'rawfile_json.filename': rawFile(stock),
    });
    await placeModules(stockHome);
    place = await SaltSandbox.create();
    brineSite = await placeSite(place.dir);
    brine = await BrineMaster.start(
      {
        ...brineSite,
        ...RETURNERS,
        'rawfile_json.filename': rawFile(place),
        id: 'brine',
        brine: { python: venv.python },
      },
      { onHome: placeModules, env: { DATABASE_URL: postgres.url } },
    );
    // Its tables are there now: of the two only Brine makes them.
    await stock.startMaster(venv, stockHome);
    await until(
      'the stock master returns events',
      async () => {
        await stock.run(venv, 'salt-run', stockHome, CALL);
        return hasAll(await rawEvents(stock));
      },
      { withinMs: 60_000 },
    );
    await until(
      'Brine returns events',
      async () => {
        await brine.brine('run', CALL);
        return hasAll(await rawEvents(place));
      },
      { withinMs: 60_000 },
    );
  }, 900_000);
  afterAll(async () => {
    await brine?.close();
    await stock?.close();
    await place?.close();
    if (pool !== undefined) await endPool(pool);
    await postgres?.stop();
  });

  /** The first event with such a tag: the names of its data in their order. */
  function shapeOf(events: readonly Returned[], tag: RegExp): string[] | undefined {
    const found = events.find((event) => tag.test(event.tag));
    return found && Object.keys(found.data).sort();
  }

  it('a line has the tag and the data that a stock master writes', async () => {
    const [theirs, ours] = [await rawEvents(stock), await rawEvents(place)];
    for (const tag of TAGS) {
      expect(shapeOf(ours, tag), String(tag)).toEqual(shapeOf(theirs, tag));
    }
    const sent = ours.find(({ tag }) => tag === 'my/tag')!;
    const stocks = theirs.find(({ tag }) => tag === 'my/tag')!;
    const { _stamp: at, ...data } = sent.data;
    const { _stamp: stockAt, ...stockData } = stocks.data;
    expect(data).toEqual(stockData);
    const form = /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}\+00:00$/;
    expect([at, stockAt]).toEqual([expect.stringMatching(form), expect.stringMatching(form)]);
  });

  it('a returner in Python gets the same events in the same order', async () => {
    const raw = await rawEvents(place);
    const events = await until(
      'all are there',
      async () => {
        const found = (await writtenEvents(brineSite)) as Returned[];
        return found.length >= raw.length && found;
      },
      { withinMs: 60_000 },
    );
    expect(events.slice(0, raw.length)).toEqual(raw);
  });

  async function rowsOf(masterId: string, table = 'salt_events'): Promise<Row[]> {
    const { rows } = await pool.query<Row>(
      `SELECT tag, data, abs(extract(epoch FROM now() - alter_time))::float8 AS age
       FROM ${table} WHERE master_id = $1 ORDER BY id`,
      [masterId],
    );
    return rows;
  }

  it('a row of Brine is as those that a stock master adds to the same table', async () => {
    const [theirs, ours] = await until('both have rows', async () => {
      const found = await Promise.all([rowsOf('stock'), rowsOf('brine')]);
      return found.every(hasAll) && found;
    });
    for (const tag of TAGS) {
      expect(shapeOf(ours, tag), String(tag)).toEqual(shapeOf(theirs, tag));
    }
    // Brine's row has the time of the event, a stock one that of its transaction.
    for (const { age } of [...theirs, ...ours]) expect(age).toBeLessThan(600);
    // Each returner began by itself, with the next event that came.
    const raw = await rawEvents(place);
    const first = raw.findIndex(({ data }) => data['_stamp'] === ours[0]?.data['_stamp']);
    expect(first).toBeGreaterThanOrEqual(0);
    const both = Math.min(raw.length - first, ours.length);
    const row = ({ tag, data }: Returned): Returned => ({ tag, data });
    expect(ours.slice(0, both).map(row)).toEqual(raw.slice(first, first + both).map(row));
  });

  it('all that stock Salt reads of events, its archive, takes both', async () => {
    const before = await Promise.all([rowsOf('stock'), rowsOf('brine')]);
    await growsOld('what pgjsonb keeps for 1 s', 1_100);
    const options = JSON.stringify({ keep_jobs_seconds: 1, archive_jobs: true });
    const args = [PGJSONB, join(stockHome.configDir, 'master'), options];
    await python(venv, args, '["clean_old_jobs", []]\n', stock.env());
    const archived = await Promise.all(
      ['stock', 'brine'].map((id) => rowsOf(id, 'salt_events_archive')),
    );
    for (const [index, rows] of before.entries()) {
      const tags = archived[index]!.slice(0, rows.length).map(({ tag }) => tag);
      expect(tags).toEqual(rows.map(({ tag }) => tag));
    }
  });
});
