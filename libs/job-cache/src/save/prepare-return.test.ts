import { createHash } from 'node:crypto';
import type { SaltMap, SaltValue } from '@brine/wire';
import { cutFields, mapOf, pack, SaltFloat, scanMap, unpackMap, WireError } from '@brine/wire';
import { hasFailed } from '@brine/wire/load';
import { JsonTranscoder } from '@brine/wire/text';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CountLabels } from '../counters/count-labels.ts';
import { countingOfReturn } from '../counters/counting.ts';
import { lastValuesOfReturn } from '../counters/last-values.ts';
import { bornJob } from './born-job.ts';
import { fullRet, referredRet } from './full-ret.ts';
import type { Kept } from './prepare-return.ts';
import { functionText, prepareReturn } from './prepare-return.ts';
import type { ReturnRow } from './rows.ts';
import { sightingOfReturn } from './sightings.ts';

const JID = '20261120171953105574';
const KEYS = ['id', 'jid', 'fun', 'return', 'retcode', 'success', 'out'];
const transcoder = new JsonTranscoder();
const labels = new CountLabels(10);

const rowOf = (load: Uint8Array): ReturnRow => ({
  jid: JID,
  id: 'web1',
  load,
  receivedAt: Date.UTC(2026, 10, 20, 17, 20),
  incarnation: '2026-11-20T10:00:00Z',
  seq: 7,
});

/** The row made of the whole value, which costs more: the rule, written once more. */
function prepareOfValue(row: ReturnRow, kept: Kept) {
  const load = unpackMap(row.load);
  const retcode = load.get('retcode');
  const isSmall = typeof retcode === 'number' && Math.abs(retcode) < 2 ** 31;
  const success = load.get('success');
  const fields = {
    jid: row.jid,
    id: row.id,
    fun: functionText(load),
    retcode: isSmall && Number.isSafeInteger(retcode) ? retcode : null,
    success: typeof success === 'boolean' ? success : null,
    failed: hasFailed(load),
    at: row.receivedAt,
    incarnation: row.incarnation,
    seq: row.seq,
    content: contentOf(row.load),
  };
  const raw = kept.content === false ? cutFields(row.load, ['return']) : row.load;
  const content = unpackMap(raw);
  const full = kept.referred === true ? referredRet(content, raw) : fullRet(content, raw);
  return {
    json: `${JSON.stringify(fields).slice(0, -1)},"full_ret":${full}`,
    raw: Buffer.from(raw),
    born: bornJob(row, scanMap(row.load)),
    kind: countingOfReturn(row, load, fields, labels).kind,
    lastValues: lastValuesOfReturn(row, load, fields, labels),
    sighting: sightingOfReturn(row, load, fields.fun),
  };
}

function contentOf(load: Uint8Array): string {
  const hash = createHash('sha256');
  const scan = scanMap(load);
  for (const key of KEYS) {
    const bytes = scan.raw(key);
    hash.update(`${key}:${bytes?.length ?? -1}\n`).update(bytes ?? '');
  }
  return hash.digest('hex').slice(0, 32);
}

function expectAlike(load: Uint8Array, kept: Kept = {}): void {
  const row = rowOf(load);
  let expected: ReturnType<typeof prepareOfValue>;
  try {
    expected = prepareOfValue(row, kept);
  } catch (error) {
    expect(error).toBeInstanceOf(WireError);
    const { code, message } = error as WireError;
    const act = (): unknown => prepareReturn(row, { labels, transcoder }, kept);
    expect(act).toThrow(expect.objectContaining({ code, message }) as Error);
    return;
  }
  const { json, raw, born, counting, lastValues, sighting } = prepareReturn(
    row,
    { labels, transcoder },
    kept,
  );
  const made = { json, born, kind: counting.kind, lastValues, sighting };
  const { raw: expectedRaw, ...others } = expected;
  expect(made).toEqual(others);
  // At once: megabytes are too many for a comparison byte by byte.
  expect(Buffer.compare(raw, expectedRaw)).toBe(0);
}

const odd = fc.constantFrom<SaltValue>(
  ...[null, true, false, 0, 1, -1, 2 ** 31, 2n ** 63n, new SaltFloat(1), 1.5, Number.NaN],
  ...['', 'x', 'x\0', '0', Buffer.of(0xff), [], ['a', 'b'], ['a', 1], [1, 0], [false]],
  ...[new Map(), mapOf({ a: 1 }), mapOf({ a: false }), new Map<SaltValue, SaltValue>([[1, 2]])],
);
const states = fc
  .array(fc.oneof(odd, fc.double(), fc.integer()), { maxLength: 3 })
  .map((times) =>
    mapOf(Object.fromEntries(times.map((t, n) => [`s${n}`, mapOf({ duration: t })]))),
  );
const fun = fc.oneof(
  { weight: 1, arbitrary: odd },
  {
    weight: 3,
    arbitrary: fc.constantFrom<SaltValue>(
      ...['test.ping', 'state.apply', 'state.highstate', 'saltutil.find_job', 'té.st'],
      ...[
        ['test.ping', 'test.echo'],
        ['state.sls', 3],
      ],
    ),
  },
);
const load = fc
  .record(
    {
      id: fc.constantFrom<SaltValue>('web1', 3),
      jid: fc.constant(JID),
      fun,
      fun_args: fc.oneof(odd, fc.constantFrom<SaltValue>([JID], ['web'], [mapOf({ mods: 'web' })])),
      return: fc.oneof(odd, states, fc.constant(mapOf({ pid: 77 }))),
      retcode: odd,
      success: odd,
      out: odd,
      schedule: odd,
      tgt: odd,
      tgt_type: fc.constantFrom<SaltValue>('glob', 1),
      user: odd,
    },
    { requiredKeys: [] },
  )
  .map((fields): SaltMap => mapOf(fields));
const kept = fc.constantFrom<Kept>({}, { content: false }, { referred: true });

test('the row of a return is that of its unpacked value', () => {
  fc.assert(
    fc.property(load, kept, (map, how) => expectAlike(pack(map, 'bin'), how)),
    { numRuns: 1_000 },
  );
});

test('changed bytes give the row of their value, or are refused with the same text', () => {
  fc.assert(
    fc.property(load, fc.nat(), fc.nat({ max: 255 }), kept, (map, at, byte, how) => {
      const packed = Buffer.from(pack(map));
      packed[at % packed.length] = byte;
      expectAlike(packed, how);
      expectAlike(packed.subarray(0, at % packed.length), how);
    }),
    { numRuns: 1_000 },
  );
});

test.each([16_000, 17_000, 3_000_000])(
  'a return of %d bytes has the hash of its content',
  (size) => {
    expectAlike(pack(mapOf({ id: 'web1', jid: JID, fun: 'x', return: 'y'.repeat(size), ts: 1 })));
  },
);
