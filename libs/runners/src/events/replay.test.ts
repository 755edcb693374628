import type { EventPage, PagedEvent, PageQuestion } from '@brine/master';
import { MasterUnavailableError } from '@brine/master';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';
import { bindArguments } from '../arguments.ts';
import { STATE_EVENT } from '../state/event.ts';
import { type EventSearch, followEvents } from './event-source.ts';
import { EVENT_REPLAY, searchOf } from './replay.ts';

const MARK = '_00000000';
const NOW = Date.UTC(2026, 10, 26, 12);

function eventsOf(count: number, size = 0): PagedEvent[] {
  return Array.from({ length: count }, (_, n) => ({
    tag: `site/${n}`,
    kind: 'local',
    timeMs: NOW + n,
    position: `${n + 1}-0${MARK}`,
    data: mapOf({ n, text: 'x'.repeat(size) }),
  }));
}

/** A bus of these events; each question that it was asked is in `asked`. */
function busOf(events: readonly PagedEvent[], pageMax = 3) {
  const asked: PageQuestion[] = [];
  const page = (question: PageQuestion): Promise<EventPage> => {
    asked.push(question);
    const { from, max } = question;
    const start =
      typeof from === 'object' && 'position' in from ? Number.parseInt(from.position) : 0;
    const some = events.slice(start, start + Math.min(max, pageMax));
    const next = start + some.length;
    const even = next >= events.length;
    const notices = start === 0 ? ['Older ones are gone.'] : [];
    return Promise.resolve({ events: some, next: `${next}-0${MARK}`, even, over: even, notices });
  };
  return { asked, page };
}

/** Runs a function as a command line does: without a master of its own. */
async function atCommandLine(
  fun: typeof EVENT_REPLAY,
  kwargs: Record<string, SaltValue>,
  pages: ReturnType<typeof busOf>,
): Promise<string> {
  const printed: string[] = [];
  const command = async (load: SaltMap): Promise<SaltMap> => {
    const args = load.get('args') as SaltMap;
    const from = { position: textOf(args, 'from') ?? '0' };
    const { events, ...rest } = await pages.page({ from, max: Number(args.get('max')), waitMs: 0 });
    const shown = events.map((event) => mapOf({ ...event }));
    return mapOf({ value: mapOf({ ...rest, events: shown, notices: [...rest.notices] }) });
  };
  const context = { client: { command }, out: (text: string) => void printed.push(text) };
  const given = { args: [], kwargs: mapOf(kwargs) };
  await fun.run(bindArguments(fun, given), context as never);
  return printed.join('');
}

test('in a master the answer is bounded, and says where to go on', async () => {
  const bus = busOf(eventsOf(20));
  const { value } = sceneOf([], { more: { pages: bus } });
  const first = (await value('event.replay', [], mapOf({ from: 'oldest', count: 5 }))) as SaltMap;
  expect((first.get('events') as SaltMap[]).map((one) => one.get('tag'))).toEqual(
    [0, 1, 2, 3, 4].map((n) => `site/${n}`),
  );
  expect(first.get('notices')).toEqual(['Older ones are gone.']);
  expect(first.get('next')).toBe(`5-0${MARK}`);
  const rest = (await value(
    'event.replay',
    [],
    mapOf({ from: first.get('next') ?? null, count: 999 }),
  )) as SaltMap;
  expect((rest.get('events') as SaltMap[])[0]?.get('tag')).toBe('site/5');
  expect(rest.get('events')).toHaveLength(15);
});

test('in a master it ends before the answer is too large, but never with nothing', async () => {
  const bus = busOf(eventsOf(6, 3_000_000));
  const { value } = sceneOf([], { more: { pages: bus } });
  const found = (await value('event.replay', [], mapOf({ from: 'oldest' }))) as SaltMap;
  expect(found.get('events')).toHaveLength(1);
  expect(found.get('next')).toBe(`1-0${MARK}`);
});

test('a command line prints a line for each event, what is not there, and where to go on', async () => {
  const text = await atCommandLine(EVENT_REPLAY, { from: `0-0${MARK}` }, busOf(eventsOf(4)));
  const lines = text.trimEnd().split('\n');
  expect(lines[0]).toBe('# Older ones are gone.');
  expect(lines[1]).toBe(
    `2026-11-26T12:00:00.000000+00:00\t1-0${MARK}\tsite/0\t{"n": 0, "text": ""}`,
  );
  expect(lines).toHaveLength(6);
  expect(lines.at(-1)).toBe(`# next: 4-0${MARK}`);
});

test('state.event with from shows the past first, in its own form', async () => {
  const kwargs = { from: `1-0${MARK}`, count: 2, tagmatch: 'site/*' };
  const text = await atCommandLine(STATE_EVENT, kwargs, busOf(eventsOf(9)));
  expect(text).toBe('site/1\t{"n": 1, "text": ""}\nsite/2\t{"n": 2, "text": ""}\n');
});

test('as in Salt, state.event with a count of 0 ends after the first event', async () => {
  const text = await atCommandLine(
    STATE_EVENT,
    { from: `1-0${MARK}`, count: 0 },
    busOf(eventsOf(9)),
  );
  expect(text.split('\n').filter((line) => line.startsWith('site/'))).toHaveLength(1);
});

test('no event is left out and none comes twice while the master is away now and then', async () => {
  const bus = busOf(eventsOf(10));
  let calls = 0;
  const page = (question: PageQuestion): Promise<EventPage> => {
    if ((calls += 1) % 2 === 0) return Promise.reject(new MasterUnavailableError('restarting'));
    return bus.page(question);
  };
  const told: string[] = [];
  const tags: string[] = [];
  const onNotice = (text: string): void => void told.push(text);
  const following = { live: false, onNotice };
  for await (const { tag } of followEvents(page, { from: 'oldest' }, following)) tags.push(tag);
  expect(tags).toEqual(eventsOf(10).map(({ tag }) => tag));
  expect(told.filter((text) => text.includes('does not answer'))).toHaveLength(3);
});

test('what fails for good ends the replay', async () => {
  const page = (): Promise<EventPage> => Promise.reject(new RangeError('no position'));
  const following = { live: true, onNotice: () => undefined };
  const reading = followEvents(page, { from: 'oldest' }, following).next();
  await expect(reading).rejects.toThrow('no position');
});

function search(kwargs: Record<string, SaltValue>): EventSearch {
  return searchOf(bindArguments(EVENT_REPLAY, { args: [], kwargs: mapOf(kwargs) }), NOW);
}

test.each<[SaltValue, object | string]>([
  ['now', 'now'],
  ['oldest', 'oldest'],
  ['4711.3-92_0a1b2c3d', { position: '4711.3-92_0a1b2c3d' }],
  [4711, { seq: 4711 }],
  ['4711', { seq: 4711 }],
  ['90m', { timeMs: NOW - 90 * 60_000 }],
  ['1.5h', { timeMs: NOW - 90 * 60_000 }],
  ['2026-11-26 10:00', { timeMs: NOW - 2 * 3_600_000 }],
  ['2026-11-26T10:00:00Z', { timeMs: NOW - 2 * 3_600_000 }],
  ['20261126100000000000', { timeMs: NOW - 2 * 3_600_000 }],
])('from %j is a beginning', (from, wanted) => {
  expect(search({ from })).toMatchObject({ from: wanted, toMs: NOW });
});

test('without a beginning it is the last hour, and an end may be said', () => {
  expect(search({})).toEqual({ from: { timeMs: NOW - 3_600_000 }, toMs: NOW });
  expect(search({ to: '10m', tag: 'salt/*', minion: 'web*' })).toEqual({
    from: { timeMs: NOW - 3_600_000 },
    toMs: NOW - 600_000,
    tag: 'salt/*',
    minion: 'web*',
  });
  for (const kwargs of [{ from: 'soon' }, { to: 'soon' }, { from: '' }]) {
    expect(() => search(kwargs)).toThrow(/is (neither|no time)/);
  }
});

test.each([0, -1, 1.5, 'many'])('a count of %j is refused', async (count) => {
  const { run } = sceneOf([], { more: { pages: busOf([]) } });
  const outcome = await run('event.replay', [], mapOf({ from: 'oldest', count }));
  expect(outcome.success).toBe(false);
});
