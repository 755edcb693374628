import type { DriftPage } from '@brine/api/fleet';
import { until } from '@brine/testing/waits';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

const NOW = Date.now() / 1_000;
const jidOf = (n: number): string => `2026113012000000000${n}`;

/** A fleet with some runs, and how a caller with these rights asks; `past`: what the store has. */
async function served(
  rights?: readonly SaltValue[],
  reach: Readonly<Record<string, string[]>> = {},
  past: (args: SaltMap) => SaltValue = () => mapOf({ runs: [], next: null }),
) {
  const reads: SaltMap[] = [];
  const answer = (load: SaltMap) => {
    const cmd = textOf(load, 'cmd');
    if (cmd === 'brine_read') {
      reads.push(load);
      return mapOf({ value: past(mapIn(load, 'args') ?? mapOf({})) });
    }
    if (rights === undefined || cmd !== 'brine_rights') return usualAnswer(load);
    return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf(reach) });
  };
  const { scene, token, ask } = await servedScene({ answer });
  const { fleet } = scene;
  const ids = ['bad1', 'none1', 'ok1', 'redone1', 'would1', 'would2'];
  for (const id of ids) fleet.setKey(id, { state: 'accepted', hasDenied: false });
  fleet.setKey('new1', { state: 'pending', hasDenied: false });
  const run = (id: string, ago: number, hasFailed: boolean) =>
    fleet.stateRun(id, { jid: jidOf(1), at: NOW - ago, hasFailed });
  const tested = (id: string, ago: number, would: number | undefined) =>
    fleet.testRun(id, { jid: jidOf(2), at: NOW - ago, hasFailed: false, would });
  run('bad1', 50, true);
  run('ok1', 40, false);
  tested('ok1', 60, 3);
  run('redone1', 90, true);
  tested('redone1', 30, 0);
  tested('would1', 20, 2);
  run('would2', 80, false);
  tested('would2', 10, 7);
  const headers = { Authorization: `Bearer ${token}` };
  const get = async (query: string) => {
    const { status, text } = await ask(`/v1/drift${query}`, { headers });
    return { status, json: JSON.parse(text) as DriftPage & { readonly code?: string } };
  };
  const idsOf = async (query: string) => (await get(query)).json.items.map(({ id }) => id);
  return { get, idsOf, fleet, scene, reads };
}

describe('drift', () => {
  test('is judged by the newer one of the last run and the last test', async () => {
    const { get } = await served();
    const { json } = await get('?facets=true');
    expect(json.items.map(({ id, state }) => [id, state])).toEqual([
      ['bad1', 'failed'],
      ['none1', 'unknown'],
      ['ok1', 'clean'],
      ['redone1', 'clean'],
      ['would1', 'would'],
      ['would2', 'would'],
    ]);
    expect(json.facets).toEqual({ state: { failed: 1, would: 2, clean: 2, unknown: 1 } });
    expect(json.items[5]).toMatchObject({
      stateRun: { jid: jidOf(1), result: 'ok' },
      testRun: { jid: jidOf(2), result: 'ok', would: 7 },
    });
    expect(json.items[5]?.age).toBeGreaterThanOrEqual(10);
    expect(json.items[1]).toMatchObject({ stateRun: null, testRun: null, age: null });
  });

  test.each([
    ['?state=would', ['would1', 'would2']],
    ['?state=failed&state=unknown', ['bad1', 'none1']],
    ['?sort=-would&state=would', ['would2', 'would1']],
    ['?sort=-testRun&limit=2', ['would2', 'would1']],
    ['?q=would', ['would1', 'would2']],
    ['?q=x*', []],
  ])('with %s has these', async (query, expected) => {
    const { idsOf } = await served();
    expect(await idsOf(query)).toEqual(expected);
  });

  test.each(['id', '-id', 'stateRun', '-testRun', 'would'])('by %s has no gap', async (sort) => {
    const { get, idsOf } = await served();
    const read: string[] = [];
    let after = '';
    for (;;) {
      const { json } = await get(`?sort=${sort}&limit=2${after}`);
      read.push(...json.items.map(({ id }) => id));
      if (json.next === null) break;
      after = `&after=${json.next}`;
    }
    expect(read).toEqual(await idsOf(`?sort=${sort}`));
    expect(read).toHaveLength(6);
  });

  test.each([
    '?state=other',
    '?sort=pillar',
    '?nothing=1',
    '?limit=501',
    '?q=',
    '?after=abc',
    `?after=${cursorOf(['-id', 0, 'x'])}`,
    `?after=${cursorOf(['id', 'x', 'x'])}`,
  ])('with %s is refused', async (query) => {
    const { get } = await served();
    expect(await get(query)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
  });
});

describe('a narrow user', () => {
  const REACH = { '*1': ['bad1', 'would1'] };
  test.each([
    [
      'by minion',
      [mapOf({ '*1': ['test.ping'] })],
      [
        ['bad1', null],
        ['would1', null],
      ],
    ],
    [
      'with states',
      [mapOf({ '*1': ['state.*'] })],
      [
        ['bad1', 'failed'],
        ['would1', 'would'],
      ],
    ],
    [
      'with state.apply alone',
      [mapOf({ '*1': ['state.apply'] })],
      [
        ['bad1', null],
        ['would1', null],
      ],
    ],
    ['with runners', ['@runner'], []],
    ['with no rights', [], []],
  ] as [string, SaltValue[], [string, string | null][]][])('%s', async (_, rights, seen) => {
    const { get, idsOf, reads } = await served(rights, REACH);
    const { json } = await get('?facets=true');
    const expected = seen.map(([id, state]) => [id, state ?? 'unknown']);
    expect(json.items.map(({ id, state }) => [id, state])).toEqual(expected);
    expect(json.total).toBe(seen.length);
    const counts = Object.values(json.facets?.state ?? {});
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(seen.length);
    const failed = seen.filter(([, state]) => state === 'failed').map(([id]) => id);
    expect(await idsOf('?state=failed')).toEqual(failed);
    if (seen.every(([, state]) => state === null)) {
      expect(json.items.every(({ stateRun, testRun, age }) => !stateRun && !testRun && !age)).toBe(
        true,
      );
      expect(await idsOf('?sort=-would')).toEqual(seen.map(([id]) => id));
    }
    const isRunner = rights.includes('@runner');
    expect(reads).toHaveLength(isRunner ? 1 : 0);
  });
});

describe('runs before this process', () => {
  const pastRun = (id: string, ago: number, more: Readonly<Record<string, SaltValue>>) =>
    mapOf({ id, jid: jidOf(5), at: (NOW - ago) * 1_000, failed: false, isTest: false, ...more });

  test('are read once, page by page, for a caller that sees all jobs', async () => {
    const pages = [
      mapOf({
        runs: [
          pastRun('none1', 100, { failed: true }),
          pastRun('none1', 200, { failed: false }),
          pastRun('bad1', 300, {}),
          pastRun('__proto__', 1, {}),
          mapOf({ id: 'ok1', jid: '../etc', at: NOW * 1e3, failed: true }),
          'no run',
        ],
        next: mapOf({ jid: jidOf(5), id: 'x' }),
      }),
      mapOf({ runs: [pastRun('bad1', 5, { isTest: true, would: 4 })], next: null }),
    ];
    const asked: SaltMap[] = [];
    const { get, reads } = await served(undefined, {}, (args) => {
      asked.push(args);
      return pages[asked.length - 1] ?? null;
    });
    await get('');
    await until('the last page came', async () => {
      return (await get('?q=bad1')).json.items[0]?.state === 'would';
    });
    const { json } = await get('');
    expect(json.items.slice(0, 3).map(({ id, state }) => [id, state])).toEqual([
      ['bad1', 'would'],
      ['none1', 'failed'],
      ['ok1', 'clean'],
    ]);
    // The run that this process saw is the newer one.
    expect(json.items[0]?.stateRun).toMatchObject({ jid: jidOf(1), result: 'failed' });
    expect(asked.map((args) => textOf(args, 'id'))).toEqual([undefined, 'x']);
    expect(reads.map((load) => textOf(load, 'token'))).toEqual(['abc123', 'abc123']);
  });
});
