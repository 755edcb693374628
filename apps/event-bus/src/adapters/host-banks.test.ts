import { expect, test } from 'vitest';
import { bankLayout, wantedBanks } from './host-banks.ts';

const layoutOf = (
  minionBanks: 'auto' | 'never' | '3006' | '3008',
  version?: string,
  cache = 'localfs',
) => bankLayout({ cache, brine: { minionBanks } }, version === undefined ? undefined : { version });

test('the layout is that of the Salt of this host, or the one that is named', () => {
  expect(layoutOf('auto')).toBeUndefined();
  expect(layoutOf('auto', '3006.26')).toBe('3006');
  expect(layoutOf('auto', '3007.13')).toBe('3006');
  expect(layoutOf('auto', '3008.2')).toBe('3008');
  expect(layoutOf('3006')).toBe('3006');
  expect(layoutOf('3008', '3006.26')).toBe('3008');
});

test('nothing is written where it is turned off, or stock tools look elsewhere', () => {
  expect(layoutOf('never', '3008.2')).toBeUndefined();
  expect(layoutOf('auto', '3008.2', 'redis')).toBeUndefined();
});

test('minion_data_cache turns all of it off, except what has an option of its own', () => {
  const off = { minionDataCache: false, enforceMineCache: false, pillarCache: false };
  expect(wantedBanks({ ...off, minionDataCache: true }, '3008')).toEqual([
    'grains',
    'pillar',
    'mine',
  ]);
  expect(wantedBanks(off, '3008')).toEqual([]);
  expect(wantedBanks({ ...off, enforceMineCache: true }, '3006')).toEqual(['mine']);
  expect(wantedBanks({ ...off, pillarCache: true }, '3006')).toEqual([]);
  expect(wantedBanks({ ...off, pillarCache: true }, '3008')).toEqual(['pillar']);
});
