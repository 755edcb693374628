import { jobRow, returnLoad, returnRow } from '@brine/testing';
import { listOf, mapOf, pack, unpackMap } from '@brine/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';
import { JobCache } from '../job-cache.ts';

let jids = 0;

const { cache, pool, url } = await jobCacheScene();

const newJid = (): string => `202611201600000${String((jids += 1)).padStart(5, '0')}`;
const bytes = (...parts: readonly (Uint8Array | number)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : part)));

/** Any bytes; often such as JSON, PostgreSQL or UTF-8 have trouble with. */
const content = fc.oneof(
  fc.uint8Array({ maxLength: 24 }),
  fc
    .constantFrom('', '\0', '$bytes', '$map', '__proto__', 'a', '\uFEFF', '\u2028')
    .map((text) => Buffer.from(text)),
  fc
    .constantFrom('ff', 'c080', 'eda080', 'f4908080', '61ff62')
    .map((hex) => Buffer.from(hex, 'hex')),
);
const eight = fc.uint8Array({ minLength: 8, maxLength: 8 });
const scalar = fc.oneof(
  fc.constantFrom(0x00, 0x7f, 0xe0, 0xff, 0xc0, 0xc2, 0xc3).map((type) => bytes(type)),
  // All forms of numbers, short ones in long forms, NaN with any payload.
  fc.tuple(fc.constantFrom(0xcb, 0xcf, 0xd3), eight).map(([type, data]) => bytes(type, data)),
  fc
    .constantFrom('cb7ff8000000000000', 'cbfff0000000000000', 'cfffffffffffffffff', 'ca7fc00001')
    .map((hex) => Buffer.from(hex, 'hex')),
  // Text and binary; extensions: unknown ones, timestamps, Salt's datetime.
  fc
    .tuple(fc.constantFrom(0xd9, 0xc4), content)
    .map(([type, data]) => bytes(type, data.length, data)),
  fc
    .tuple(fc.constantFrom(0x05, 0xff, 0x80), content)
    .map(([code, data]) => bytes(0xc7, data.length, code, data)),
  fc.constant(bytes(0xc7, 24, 78, Buffer.from('20261120T10:00:00.000001'))),
);
const { value } = fc.letrec<{ value: Buffer }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => bytes(0xdc, 0, items.length, ...items)),
    // Keys of any scalar, some of them twice.
    fc
      .array(fc.tuple(scalar, tie('value')), { maxLength: 4 })
      .map((pairs) => bytes(0xde, 0, pairs.length, ...pairs.flat())),
  ),
}));

/** A return whose value is these bytes of msgpack. */
function loadWith(jid: string, id: string, packed: Uint8Array): Buffer {
  const whole = returnLoad(jid, id, 'HERE');
  const at = whole.indexOf(pack('HERE'));
  return bytes(whole.subarray(0, at), packed, whole.subarray(at + 5));
}

test('whatever bytes a return has, they are stored, counted and shown as they came', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 60 }), async (values) => {
      const jid = newJid();
      const rows = values.map((packed, n) => {
        const load = loadWith(jid, `m${n}`, packed);
        return returnRow(jid, `m${n}`, null, { seq: n, load });
      });
      await cache.saveJobs([jobRow(jid)]);
      const report = await cache.saveReturns(rows);
      expect(report).toMatchObject({ stored: rows.length, refused: [] });
      const { returns } = await cache.getJid(jid);
      for (const { id, load } of rows) {
        const came = unpackMap(load).get('return') ?? null;
        expect(pack(returns.get(id)?.get('return') ?? null).equals(pack(came)), id).toBe(true);
      }
      const found = await pool.query<{ id: string; raw: Buffer; told: boolean }>(
        "SELECT id, raw, full_ret ? 'return' AS told FROM brine.returns WHERE jid = $1",
        [jid],
      );
      const stored = new Map(found.rows.map((row) => [row.id, row]));
      for (const { id, load } of rows) {
        expect(stored.get(id)?.raw.equals(load as Buffer), id).toBe(true);
        expect(stored.get(id)?.told).toBe(true);
      }
    }),
    { numRuns: 40 },
  );
});

test('a return too large for JSON is kept as bytes, and the JSON refers to them', async () => {
  const jid = newJid();
  // Each of these characters is six in JSON.
  const text = '\u0001'.repeat(12 * 1024 * 1024);
  const load = returnLoad(jid, 'm1', text);
  await cache.saveReturns([returnRow(jid, 'm1', text, { load })]);
  const { rows } = await pool.query('SELECT full_ret FROM salt_returns WHERE jid = $1', [jid]);
  expect(rows).toEqual([
    {
      full_ret: expect.objectContaining({
        id: 'm1',
        fun: 'test.ping',
        return: { $raw: load.byteLength },
      }) as unknown,
    },
  ]);
  const { returns } = await cache.getJid(jid);
  expect(returns.get('m1')?.get('return') === text).toBe(true);
});

test('a job whose arguments are too large for JSON is kept as bytes too', async () => {
  const jid = newJid();
  const text = '\u0001'.repeat(12 * 1024 * 1024);
  const load = pack(mapOf({ jid, fun: 'test.echo', arg: [text], tgt: '*', user: 'ann' }));
  expect(await cache.saveJobs([jobRow(jid, { load })])).toMatchObject({ stored: 1, refused: [] });
  const { rows } = await pool.query('SELECT load FROM jids WHERE jid = $1', [jid]);
  const told = { jid, fun: 'test.echo', tgt: '*', user: 'ann', arg: { $raw: load.byteLength } };
  expect(rows).toEqual([{ load: told }]);
  const [arg] = listOf((await cache.getLoad(jid)) ?? mapOf({}), 'arg') ?? [];
  expect(arg === text).toBe(true);
});

test('a return whose other fields PostgreSQL refuses counts all the same', async () => {
  const jid = newJid();
  const load = returnLoad(jid, 'm1', 'x', { fun: 'test.\0ping' });
  const report = await cache.saveReturns([
    returnRow(jid, 'm1', 'x', { load }),
    returnRow(jid, 'm2', 'y', { seq: 2 }),
  ]);
  expect(report).toMatchObject({ stored: 2, refused: [] });
  const { returns } = await cache.getJid(jid);
  expect(returns.get('m1')?.get('return')).toBe('x');
});

test('with job_cache: false a return is counted and its content is kept nowhere', async () => {
  const counting = await JobCache.connect(url, { keepReturns: false });
  try {
    const jid = newJid();
    await counting.saveJobs([jobRow(jid, { deadlineAt: Date.now() + 60_000 })]);
    const failed = returnLoad(jid, 'm2', 'a secret', { retcode: 2 });
    await counting.saveReturns([
      returnRow(jid, 'm1', 'a secret'),
      returnRow(jid, 'm2', 'a secret', { seq: 2, load: failed }),
      returnRow(jid, 'm1', 'another secret', { seq: 3 }),
    ]);
    const job = await counting.getJob(jid);
    expect(job?.ledger).toMatchObject({ returned: 1, failed: 1, waiting: 1, evidence: 1 });
    expect((await counting.getJid(jid)).returns).toEqual(new Map());
    const view = await pool.query('SELECT FROM salt_returns WHERE jid = $1', [jid]);
    expect(view.rowCount).toBe(0);
    const { rows } = await pool.query<{ text: string }>(
      `SELECT t::text || encode(raw, 'escape') AS text FROM brine.returns t WHERE jid = $1
       UNION ALL SELECT t::text || encode(raw, 'escape') FROM brine.evidence t WHERE jid = $1`,
      [jid],
    );
    expect(rows).toHaveLength(3);
    expect(rows.map(({ text }) => text).join()).not.toContain('secret');
  } finally {
    await counting.close();
  }
});
