import { isJid, type Jid, jobReturnTag } from '@brine/job';
import { describe, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import type { Received } from '../streams/stream-reader.ts';
import { readEvents } from './event-reader.ts';
import { PAGE_MAX_BYTES, type PagedReturn, readPage, sizeInPage, writePage } from './page.ts';

const BUS = {} as Bus;

function jid(n: number): Jid {
  const text = String(20261125000000000000n + BigInt(n));
  if (!isJid(text)) throw new Error(text);
  return text;
}

const RETURNS: readonly PagedReturn[] = [
  { jid: jid(1), minion: 'web-1', link: undefined, traced: false, body: Buffer.from('one') },
  { jid: jid(2), minion: 'grün', link: '00-ab-cd-01', traced: true, body: Buffer.alloc(0) },
  { jid: jid(3), minion: 'm'.repeat(255), link: '', traced: false, body: Buffer.alloc(70_000, 7) },
];

function pageOf(returns: readonly PagedReturn[]): Buffer {
  return writePage(
    returns,
    returns.reduce((sum, one) => sum + (sizeInPage(one) ?? NaN), 0),
  );
}

/** A page as a reader has it; what becomes of it is in `settled`. */
function received(
  data: Uint8Array,
  count: string,
  kind = 'ret',
): { page: Received; settled: unknown[] } {
  const settled: unknown[] = [];
  const page: Received = {
    subject: `brine.events.${kind}`,
    data,
    header: (name) => (name === 'Brine-Page' ? count : ''),
    headers: () => '',
    settle: (how) => void settled.push(how),
    failed: (error) => void settled.push(error),
    seq: 9,
    consumerSeq: 1,
    timeUs: 5_000_000,
    pending: 0,
    deliveries: 2,
    followsOn: true,
    incarnation: 'one',
  };
  return { page, settled };
}

function eventsOf(settles = true) {
  const { page, settled } = received(pageOf(RETURNS), '3');
  return { events: readEvents(BUS, page, settles), settled };
}

test('what was written into a page is read from it', async () => {
  const { events } = eventsOf();
  expect(events).toMatchObject(
    RETURNS.map(({ jid, minion, link, traced, body }) => ({
      jid,
      minion,
      traced,
      kind: 'ret',
      tag: jobReturnTag(jid, minion),
      link: link === '' ? undefined : link,
      size: body.length,
      seq: 9,
      incarnation: 'one',
      timeMs: 5_000,
      deliveries: 2,
      subject: 'brine.events.ret',
    })),
  );
  for (const [at, event] of events.entries()) {
    expect(Buffer.from(await event.fetch())).toEqual(RETURNS[at]?.body);
  }
});

test.each(['hook', 'syndic', 'minion', 'run', 'sighting'])('a page of %s is no event', (kind) => {
  const { page } = received(pageOf(RETURNS), '3', kind);
  expect(() => readEvents(BUS, page, false)).toThrow('no event of ours');
});

test('what has no room in a page has no size there', () => {
  const [one] = RETURNS as [PagedReturn];
  expect(sizeInPage({ ...one, minion: 'ü'.repeat(128) })).toBeUndefined();
  expect(sizeInPage({ ...one, link: 'l'.repeat(256) })).toBeUndefined();
  expect(sizeInPage({ ...one, body: Buffer.alloc(PAGE_MAX_BYTES) })).toBeUndefined();
  const rest = (sizeInPage(one) ?? 0) - one.body.length;
  expect(sizeInPage({ ...one, body: Buffer.alloc(PAGE_MAX_BYTES - rest) })).toBe(PAGE_MAX_BYTES);
});

describe('no page', () => {
  const page = pageOf(RETURNS);
  const refused = (data: Uint8Array, count = 3): unknown => {
    try {
      return readPage(data, count);
    } catch (error) {
      return error;
    }
  };

  test('is one that was cut anywhere', () => {
    for (let length = 0; length < 400; length += 1) {
      expect(refused(page.subarray(0, length)), `${length}`).toBeInstanceOf(BusError);
    }
    expect(refused(page.subarray(0, -1))).toBeInstanceOf(BusError);
  });

  test.each([2, 4, 0, NaN])('is one that should hold %d events', (count) => {
    expect(refused(page, count)).toMatchObject({ code: 'BUS_BAD_MESSAGE' });
  });

  test('is one with bytes behind it, or with a length that is too large', () => {
    expect(refused(Buffer.concat([page, Buffer.of(0)]))).toBeInstanceOf(BusError);
    const long = Buffer.from(page);
    long.writeUInt32BE(0xffffffff, 4);
    expect(refused(long)).toBeInstanceOf(BusError);
  });
});

describe('a page is settled', () => {
  test('by the last of its events, once', () => {
    const { events, settled } = eventsOf();
    events[0]?.ack();
    events[0]?.ack();
    events[2]?.ack();
    expect(settled).toEqual([]);
    events[1]?.ack();
    events[1]?.ack();
    expect(settled).toEqual(['+ACK']);
  });

  test('so that it comes again where one event is given back', () => {
    const { events, settled } = eventsOf();
    events[0]?.nak(20);
    events[1]?.failed(new Error('not now'));
    events[2]?.nak(0);
    expect(settled).toEqual(['-NAK {"delay":20000000}']);
  });

  test('so that it fails where one event fails', () => {
    const { events, settled } = eventsOf();
    const error = new Error('never');
    events[0]?.failed(error);
    events[1]?.ack();
    expect(settled).toEqual([]);
    events[2]?.ack();
    expect(settled).toEqual([error]);
  });

  test('at once where its reader acknowledges nothing', () => {
    const { events, settled } = eventsOf(false);
    const error = new Error('one');
    events[1]?.failed(error);
    expect(settled).toEqual([error]);
  });
});
