import { isJid } from '@brine/job';
import { mapOf, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { exchangeHead, ExchangeReader } from './exchange-format.ts';
import { stockJobLine, stockReturnLine } from './stock-rows.ts';

const JID = '20261125120000000001';
if (!isJid(JID)) throw new Error('no jid');

const load = mapOf({ fun: ['test.ping', 'test.version'], tgt: 'a,b', user: 'root', arg: [[], []] });
const job = { jid: JID, load, minions: ['a', 'b'], deadlineSeconds: 3_600, host: 'one' } as const;

test('a file of these lines is one that an import takes', () => {
  const returned = { jid: JID, id: 'a', load: mapOf({ return: true }), receivedAtMs: 5 };
  const reader = new ExchangeReader();
  const lines = [exchangeHead(0), stockJobLine(job), stockReturnLine(returned)];
  const kinds = lines.map((line) => reader.read(line)?.kind);
  expect(kinds).toEqual([undefined, 'job', 'return']);
  expect(() => reader.read(reader.tail())).not.toThrow();
});

test('a job keeps its load to the byte, and its deadline is as of a publication', () => {
  const row = JSON.parse(stockJobLine(job)) as Record<string, unknown>;
  expect(unpackMap(Buffer.from(String(row['load_raw']), 'base64'))).toEqual(load);
  expect(row).toMatchObject({
    fun: ['test.ping', 'test.version'],
    tgt: ['a,b'],
    tgt_type: 'glob',
    published_at: '2026-11-25T12:00:00.000Z',
    deadline_at: '2026-11-25T13:00:00.000Z',
    hidden: false,
  });
});

test('a failed return is a failed one, and the same content has the same hash', () => {
  const line = (retcode: number, at: number): Record<string, unknown> =>
    JSON.parse(
      stockReturnLine({
        jid: JID,
        id: 'a',
        load: mapOf({ jid: JID, id: 'a', fun: 'test.false', return: 'x', retcode }),
        receivedAtMs: at,
      }),
    ) as Record<string, unknown>;
  expect(line(1, 5)).toMatchObject({ retcode: 1, failed: true, success: null });
  expect(line(0, 5)['failed']).toBe(false);
  expect(line(1, 5)['content']).toBe(line(1, 9)['content']);
  expect(line(1, 5)['content']).not.toBe(line(2, 5)['content']);
});
