import { jobRow, makeDatabase, returnLoad, returnRow } from '@brine/testing';
import type { SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { JobCache } from '../job-cache.ts';
import {
  EXCHANGE_KINDS,
  ExchangeError,
  exchangeHead,
  exchangeLines,
  ExchangeReader,
} from './exchange-format.ts';

const { cache, pool } = await jobCacheScene();

const JID = '20260102030405000001';
const TABLES = ['jobs', 'returns', 'evidence', 'sightings'] as const;

async function exported(jid: string): Promise<string> {
  const lines = [exchangeHead(0)];
  for (const kind of EXCHANGE_KINDS) {
    let after: string | undefined;
    do {
      const page = await cache.exportRows(jid, kind, after);
      lines.push(...page.lines);
      after = page.next;
    } while (after !== undefined);
  }
  const reader = new ExchangeReader();
  for (const line of lines) reader.read(line);
  return `${[...lines, reader.tail()].join('\n')}\n`;
}

const imported = (text: string): Promise<unknown> =>
  cache.importRows(text).catch((error: unknown) => error);

const rows = async (jid: string): Promise<unknown[]> =>
  Promise.all(
    TABLES.map(async (table) => {
      const text = `SELECT to_jsonb(t) - 'newly_published' - 'newly_targeted' AS row
        FROM brine.${table} t WHERE jid = $1 ORDER BY 1`;
      return (await pool.query<{ row: unknown }>(text, [jid])).rows;
    }),
  );

const forget = async (jid: string): Promise<void> => {
  for (const table of TABLES) await pool.query(`DELETE FROM brine.${table} WHERE jid = $1`, [jid]);
};

test('a job goes out and comes in again, every byte the same, as often as one likes', async () => {
  const minions = Array.from({ length: 1_100 }, (_, index) => `web${index}`);
  await cache.saveJobs([
    { ...jobRow(JID, { minions, deadlineAt: Date.now() }), origin: 'reactor' },
  ]);
  const odd = returnLoad(
    JID,
    'web0',
    new Map<SaltValue, SaltValue>([
      ['nul', 'a\0b'],
      ['separators', '\u2028\u2029\r\n'],
      ['é', Number.NaN],
    ]),
    { retcode: 1 },
  );
  await cache.saveReturns([
    ...minions.slice(1).map((id, index) => returnRow(JID, id, index, { seq: index + 10 })),
    returnRow(JID, 'web0', 1, { seq: 1, load: odd }),
  ]);
  await cache.saveReturns([returnRow(JID, 'web1', 'another', { seq: 5_000 })]);
  await pool.query(
    `INSERT INTO brine.sightings (jid, id, kind, first_at, last_at)
     VALUES ($1, 'web1', 'running', now(), now())`,
    [JID],
  );
  const before = await rows(JID);
  const file = await exported(JID);
  expect(file.split('\n')).toHaveLength(1 + 1 + 1_100 + 1 + 1 + 1 + 1);

  await forget(JID);
  const counts = { jobs: 1, returns: 1_100, evidence: 1, sightings: 1, known: 0 };
  expect(await imported(file)).toEqual(counts);
  expect(await rows(JID)).toEqual(before);

  const again = { jobs: 0, returns: 0, evidence: 0, sightings: 0, known: 1_103 };
  expect(await imported(file)).toEqual(again);
  expect(await rows(JID)).toEqual(before);
});

test('a damaged file is refused with the line, and leaves nothing behind', async () => {
  const jid = '20260102030405000002';
  await cache.saveJobs([jobRow(jid, { minions: ['one'] })]);
  await cache.saveReturns([returnRow(jid, 'one', 1, { seq: 1 })]);
  const file = await exported(jid);
  await forget(jid);
  const lines = file.trimEnd().split('\n');
  const put = (at: number, line: string): string => `${lines.with(at, line).join('\n')}\n`;
  const ended = (all: readonly string[]): string => {
    const reader = new ExchangeReader();
    for (const line of all) reader.read(line);
    return `${[...all, reader.tail()].join('\n')}\n`;
  };
  const cases: [string, string][] = [
    [put(2, '{'), 'line 3: no JSON'],
    [put(0, '{}'), 'line 1: no file of jobs.export'],
    [put(0, (lines[0] ?? '').replace('"version":1', '"version":2')), 'line 1: version 2'],
    [
      put(2, (lines[2] ?? '').replace('"fun" :', '"fun2" :')),
      'line 3: return without a good "fun"',
    ],
    [
      put(1, (lines[1] ?? '').replace(/"host" : "\w*"/, '"host" : "x"')),
      'line 4: the lines before',
    ],
    [`${lines.slice(0, 3).join('\n')}\n`, 'line 4: the end is missing'],
    [`${lines.filter((_, at) => at !== 2).join('\n')}\n`, 'line 3: read 2 lines, but'],
    [`${file}${lines[2]}\n`, 'line 5: there is more after the end'],
    [
      ended([...lines.slice(0, 2), (lines[2] ?? '').replace(/"raw" : "[^"]*"/, '"raw" : "oUE="')]),
      'line 3: ',
    ],
    [
      ended([...lines.slice(0, 2), lines[1] ?? '']),
      'line 2: in the job lines from here on: the same row twice',
    ],
    [
      ended([
        lines[0] ?? '',
        lines[1] ?? '',
        (lines[2] ?? '').replace(/"content" : "[^"]*"/, '"content" : "x"'),
      ]),
      'line 3: in the return lines',
    ],
  ];
  for (const [text, reason] of cases) {
    const error = await imported(text);
    expect(error).toBeInstanceOf(ExchangeError);
    expect((error as Error).message).toContain(reason);
    for (const found of await rows(jid)) expect(found).toEqual([]);
  }
});

test('a return that is there already stays; a different one becomes evidence', async () => {
  const jid = '20260102030405000003';
  await cache.saveJobs([jobRow(jid, { minions: ['one'] })]);
  await cache.saveReturns([returnRow(jid, 'one', 'theirs', { seq: 1 })]);
  const file = await exported(jid);
  await forget(jid);
  await cache.saveJobs([jobRow(jid, { minions: ['one'] })]);
  await cache.saveReturns([returnRow(jid, 'one', 'ours', { seq: 9 })]);
  expect(await imported(file)).toMatchObject({ jobs: 0, returns: 0, known: 2 });
  const page = await cache.getJid(jid);
  expect(page.returns.get('one')?.get('return')).toBe('ours');
  expect((await cache.getJob(jid))?.ledger.evidence).toBe(1);
});

test('another, empty database answers as this one does', async () => {
  const jid = '20260102030405000004';
  await cache.saveJobs([
    jobRow(jid, { minions: ['only1', 'only2'], publishedAt: 1, deadlineAt: 5 }),
  ]);
  await cache.saveReturns([returnRow(jid, 'only1', [1, 'x'], { seq: 1 })]);
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  await cache.saveSightings([{ jid, ids: ['only2'], kind: 'not_running', at }]);
  // Content that PostgreSQL refuses as JSON is a reference, and the bytes are all there.
  await pool.query(`UPDATE brine.returns SET full_ret = '{"return": {"$raw": 7}}' WHERE jid = $1`, [
    jid,
  ]);
  // A stock tool wrote this: a double does not represent these digits.
  await pool.query(`INSERT INTO public.salt_returns (fun, jid, return, id, success, full_ret)
    VALUES ('f', '${jid}', '123456789012345678901234567890', 'only2', 'true', '{"retcode": 0}')`);
  const file = await exported(jid);
  const other = await makeDatabase();
  const theirs = await JobCache.connect(other.url);
  try {
    await theirs.importRows(file, 100);
    for (const ask of [
      (one: JobCache) => one.getLoad(jid),
      (one: JobCache) => one.getJid(jid),
      (one: JobCache) => one.getJob(jid, { states: true }),
      (one: JobCache) => one.listJobs({ after: '20260102030405000003' }),
      (one: JobCache) => one.silentMinions(jid),
      (one: JobCache) => one.jobAt(jid, Date.now()),
      (one: JobCache) => one.exportRows(jid, 'return'),
    ]) {
      const answer = await ask(cache);
      expect(answer).toBeDefined();
      expect(await ask(theirs)).toEqual(answer);
    }
    const cut = file.replace('"failed"', '"fialed"');
    await expect(theirs.importRows(cut, 100)).rejects.toThrow(/^line 3: return without/);
  } finally {
    await theirs.close();
    await other.drop();
  }
});

test('lines are found wherever a file is cut', async () => {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const byte of Buffer.from('é\u2028a\nb\r\n\nc')) yield Buffer.of(byte);
  }
  const lines: string[] = [];
  for await (const line of exchangeLines(bytes())) lines.push(line);
  expect(lines).toEqual(['é\u2028a', 'b\r', '', 'c']);
});
