import { describe, expect, test } from 'vitest';
import {
  filterOf,
  type FleetFilter,
  readFleetSearch,
  targetOf,
  toggled,
  windowTopic,
  withText,
} from './fleet-search.ts';

describe('the address of the fleet', () => {
  test('has texts once and lists as lists; what is unknown or empty is dropped', () => {
    const given = { q: 'web', os: 'Debian', key: ['accepted', '', 'pending'], sort: '', x: '1' };
    expect(readFleetSearch({ ...given, present: ['a', 'b'] })).toEqual({
      q: 'web',
      os: ['Debian'],
      key: ['accepted', 'pending'],
    });
    expect(filterOf({ q: 'a', columns: 'os' })).toEqual({ q: 'a' });
  });

  test('values of a facet come and go, and leave nothing empty', () => {
    const one = toggled({ q: 'a' }, 'os', 'Debian');
    expect(one).toEqual({ q: 'a', os: ['Debian'] });
    expect(toggled(one, 'os', 'Ubuntu').os).toEqual(['Debian', 'Ubuntu']);
    expect(toggled(one, 'os', 'Debian')).toEqual({ q: 'a' });
    expect(withText(withText({}, 'q', 'x'), 'q', '')).toEqual({});
  });
});

describe('a window', () => {
  test.each([
    [0, 40, '0..49'],
    [49, 50, '0..99'],
    [19_960, 19_999, '19950..19999'],
    [0, 5_000, '0..499'],
  ])('of the rows %i to %i is %s', (first, last, rows) => {
    expect(windowTopic({}, first, last)).toBe(`minions:facets=true:${rows}`);
  });

  test('has its filter with escapes: no comma, which parts topics', () => {
    const topic = windowTopic({ q: 'a,b', os: ['x:y', 'z'], sort: '-seen' }, 0, 1);
    expect(topic).toBe('minions:q=a%2Cb&os=x%3Ay&os=z&sort=-seen&facets=true:0..49');
  });
});

describe('the target of a filter', () => {
  test.each<[FleetFilter, string | undefined]>([
    [{}, '*'],
    [{ q: 'web' }, '*web*'],
    [{ q: 'web*' }, 'web*'],
    [{ os: ['Debian'] }, 'G@os:Debian'],
    [{ os: ['Debian', 'Ubuntu'], q: 'db?' }, 'db? and ( G@os:Debian or G@os:Ubuntu )'],
    [
      { version: ['3006.5'], grain: ['kernel:Linux'], key: ['accepted', 'pending'] },
      'G@saltversion:3006.5 and G@kernel:Linux',
    ],
    [{ present: 'true' }, undefined],
    [{ silentSince: '1h' }, undefined],
    [{ key: ['pending'] }, undefined],
    [{ os: ['Red Hat'] }, undefined],
    [{ os: ['a*'] }, undefined],
    [{ os: ['x) or ( *'] }, undefined],
    [{ q: 'a or b', os: ['Debian'] }, undefined],
  ])('%j is %s', (filter, tgt) => {
    expect(targetOf(filter)?.tgt).toBe(tgt);
  });
});
