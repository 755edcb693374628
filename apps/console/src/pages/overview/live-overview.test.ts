import type { Overview } from '@brine/api/fleet';
import { expect, test } from 'vitest';
import { liveOverview, noReturns, withReturns } from './live-overview.ts';

const MINUTE = Date.parse('2026-11-30T09:15:00Z');

function overview(): Overview {
  return {
    fleet: {
      total: 2,
      facets: {
        key: { accepted: 2, pending: 0, rejected: 0, denied: 0 },
        present: { yes: 2, no: 0 },
        grains: [],
      },
    },
    jobs: {
      open: 0,
      perMinute: [
        { at: '2026-11-30T09:14:00Z', jobs: 1, returns: 1, failed: 0 },
        { at: '2026-11-30T09:15:00Z', jobs: 2, returns: 2, failed: 1 },
      ],
      isWhole: true,
      quarantined: 0,
    },
    services: null,
    trouble: null,
    asOf: '1-1_00000000',
  };
}

const CAME = { jobs: { began: 1, returns: 5, failed: 2 } };

test('what came counts into the minute of now', () => {
  const { jobs, fleet } = liveOverview(overview(), CAME, MINUTE + 59_999);
  expect(jobs?.perMinute.at(-1)).toMatchObject({ jobs: 3, returns: 7, failed: 3 });
  expect(fleet).toEqual(overview().fleet);
});

test('a new minute begins, and the oldest one makes room, however long it was', () => {
  const next = liveOverview(overview(), CAME, MINUTE + 60_000).jobs?.perMinute;
  expect(next).toHaveLength(2);
  expect(next?.[0]).toMatchObject({ jobs: 2 });
  expect(next?.[1]).toMatchObject({ jobs: 1, returns: 5, failed: 2 });
  expect(Date.parse(next?.[1]?.at ?? '')).toBe(MINUTE + 60_000);
  const later = liveOverview(overview(), CAME, MINUTE + 86_400_000).jobs?.perMinute;
  expect(later?.map(({ jobs }) => jobs)).toEqual([0, 1]);
});

test('new numbers of the fleet replace the old ones, and leave what they have not', () => {
  const fleet = {
    total: 3,
    key: { accepted: 3, pending: 1, rejected: 0, denied: 0 },
    present: { yes: 2, no: 1 },
  };
  const after = liveOverview(overview(), { ...CAME, fleet }, MINUTE).fleet;
  expect(after).toMatchObject({ total: 3, facets: { present: { no: 1 }, grains: [] } });
});

test('without the job cache only the fleet moves', () => {
  expect(liveOverview({ ...overview(), jobs: null }, CAME, MINUTE).jobs).toBe(null);
});

test('returns count into their second; those of a minute ago are gone', () => {
  let rate = noReturns(MINUTE);
  rate = withReturns(rate, 3, MINUTE);
  rate = withReturns(rate, 4, MINUTE + 1_500);
  expect(rate.counts.slice(-2)).toEqual([3, 4]);
  expect(rate.counts).toHaveLength(60);
  // A clock that was set back counts into the newest second.
  expect(withReturns(rate, 1, MINUTE - 5_000).counts.slice(-2)).toEqual([3, 5]);
  expect(withReturns(rate, 0, MINUTE + 90_000).counts.every((count) => count === 0)).toBe(true);
});
