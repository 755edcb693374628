import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { BUS_KINDS } from '@brine/bus/timeline';
import type { EventKind } from '@brine/job';
import type { EventPage, PageQuestion } from '@brine/master';
import { startNats, type TestNats } from '@brine/testing';
import { mapOf, pack, textOf, VALUE_TRIMMED } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BusPages } from './bus-pages.ts';

let nats: TestNats;
let worker: Bus;
let writer: EventWriter;
let pages: BusPages;

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  writer = new EventWriter(worker);
  const narrow = (glob: string): { kinds: readonly EventKind[]; jobs: boolean } => ({
    kinds: glob.startsWith('site/') ? ['local'] : BUS_KINDS,
    jobs: !glob.startsWith('site/'),
  });
  pages = new BusPages({ bus: worker, maxEventSize: 10_000, narrow });
}, 600_000);

afterAll(() => nats.close());

async function fire(kind: EventKind, tag: string, more: object = {}): Promise<void> {
  const body = pack(mapOf({ tag, ...more }));
  await writer.append({ kind, tag, body, ...(kind === 'minion' ? { minion: 'web1' } : {}) });
}

async function all(question: Partial<PageQuestion>): Promise<EventPage[]> {
  const found: EventPage[] = [];
  let from: PageQuestion['from'] = 'oldest';
  for (;;) {
    const page = await pages.page({ max: 7, waitMs: 0, ...question, from });
    found.push(page);
    if (page.even || page.over) return found;
    from = { position: page.next };
  }
}

const tagsOf = (found: readonly EventPage[]): string[] =>
  found.flatMap(({ events }) => events.map(({ tag }) => tag));

test('pages follow each other without a gap, and none is in two', async () => {
  const tags: string[] = [];
  for (let n = 0; n < 40; n += 1) {
    const tag = `site/${n}`;
    tags.push(tag);
    await fire('local', tag);
  }
  const found = await all({});
  expect(tagsOf(found)).toEqual(tags);
  expect(found.length).toBeGreaterThan(5);
  expect(found.every(({ events }) => events.length <= 7)).toBe(true);
});

test('only what is asked for comes, however it is asked for', async () => {
  await fire('minion', 'salt/beacon/web1/x');
  await fire('auth', 'salt/auth', { jid: '20261126030000000001' });
  await fire('local', 'salt/run/20261126030000000001/new');
  expect(tagsOf(await all({ tag: 'site/1?' }))).toHaveLength(10);
  expect(tagsOf(await all({ kinds: ['auth'] }))).toEqual(['salt/auth']);
  expect(tagsOf(await all({ kinds: ['auth'], tag: 'site/*' }))).toEqual([]);
  expect(tagsOf(await all({ minion: 'web*' }))).toEqual(['salt/beacon/web1/x']);
  expect(tagsOf(await all({ jid: '20261126030000000001' }))).toEqual([
    'salt/run/20261126030000000001/new',
  ]);
});

test('events have a stamp, and what is too large is trimmed as on the sockets', async () => {
  await fire('local', 'own/stamp', { _stamp: 'mine' });
  await fire('local', 'own/large', { text: 'x'.repeat(20_000), short: 'y' });
  await fire('local', 'own/huge', { text: 'x'.repeat(400_000) });
  const [own, large, huge] = (await all({ tag: 'own/*' })).flatMap(({ events }) => events);
  expect(textOf(own?.data ?? mapOf({}), '_stamp')).toBe('mine');
  expect(large?.data.get('text')).toBe(VALUE_TRIMMED);
  expect(large?.data.get('short')).toBe('y');
  expect(large?.data.get('_stamp')).toMatch(/^\d{4}-\d\d-\d\dT.*\.\d{6}\+00:00$/);
  expect(huge?.data.get('return')).toBe(VALUE_TRIMMED);
});

test('a page ends at a time, and waits for what comes', async () => {
  const toMs = Date.now();
  const early = await pages.page({ from: { timeMs: toMs - 60_000 }, toMs, max: 1_000, waitMs: 0 });
  expect(early.over).toBe(true);
  const { next } = await pages.page({ from: 'now', max: 10, waitMs: 0 });
  const waiting = pages.page({ from: { position: next }, max: 10, waitMs: 10_000 });
  await fire('local', 'late');
  expect(tagsOf([await waiting])).toEqual(['late']);
  const nothing = await pages.page({ from: 'now', max: 10, waitMs: 50 });
  expect(nothing).toMatchObject({ events: [], even: true, over: false });
});

test('a position that is none is refused, and so are too many readers', async () => {
  const wrong = pages.page({ from: { position: 'x' }, max: 1, waitMs: 0 });
  await expect(wrong).rejects.toThrow(RangeError);
  const many = Array.from({ length: 40 }, () => pages.page({ from: 'now', max: 1, waitMs: 500 }));
  const settled = await Promise.allSettled(many);
  const refused = settled.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(8);
  expect(refused[0]).toMatchObject({ reason: { name: 'RangeError' } });
});
