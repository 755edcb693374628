import type { JobCache, SilentMinion, SilentPage } from '@brine/job-cache';
import { isMap, listOf, mapIn, mapOf, textOf } from '@brine/wire';
import { expect, it } from 'vitest';
import { silentQuery } from './silent-query.ts';

const HERE = '2026-11-22T12:00:00.000Z';
const after = Date.parse(HERE) + 1;

const minion = (more: Partial<SilentMinion>): SilentMinion => ({
  id: 'm',
  targeted: true,
  returnedMs: undefined,
  incarnation: undefined,
  sightings: new Map(),
  logInsMs: [],
  heardBeforeMs: undefined,
  heardAfterMs: undefined,
  unansweredBefore: 0,
  ...more,
});

async function answer(found: SilentMinion, incarnation?: string) {
  const page: SilentPage = {
    load: mapOf({}),
    publishedMs: 1,
    deadlineMs: undefined,
    minions: [found],
    next: undefined,
  };
  const cache = { silentMinions: () => Promise.resolve(page) } as unknown as JobCache;
  const told = await silentQuery(cache, 'j', mapOf({}), incarnation);
  const [first] = (isMap(told) ? listOf(told, 'minions') : undefined) ?? [];
  if (!isMap(first)) throw new Error('no minion in the answer');
  return first;
}

it('names the way of a return that did not come through the events read here', async () => {
  const cases: [Partial<SilentMinion>, string | undefined, RegExp | undefined][] = [
    [{ returnedMs: after, incarnation: '~pgjsonb' }, HERE, /pgjsonb/],
    [{ returnedMs: after, incarnation: '2026-11-21T00:00:00Z' }, HERE, /another master/],
    [{ returnedMs: after, incarnation: HERE }, HERE, undefined],
    // An earlier stream of our own may have had it, or ours is not known yet.
    [{ returnedMs: after - 2, incarnation: '2026-11-21T00:00:00Z' }, HERE, undefined],
    [{ returnedMs: after, incarnation: '2026-11-21T00:00:00Z' }, undefined, undefined],
    [{}, HERE, undefined],
  ];
  for (const [more, here, expected] of cases) {
    const elsewhere = textOf(await answer(minion(more), here), 'elsewhere');
    if (expected === undefined) expect(elsewhere).toBeUndefined();
    else expect(elsewhere).toMatch(expected);
  }
});

it('hands on sightings by kind', async () => {
  const seen = { firstMs: 1, lastMs: 2, count: 3, reason: 'why' };
  const told = await answer(minion({ sightings: new Map([['refused', seen]]) }));
  const refused = mapIn(mapIn(told, 'sightings') ?? mapOf({}), 'refused');
  expect(Object.fromEntries(refused ?? [])).toEqual(seen);
});
