import { isJid, jidTimeMs } from '@brine/job';
import { expect, it } from 'vitest';
import { OwnJids } from './own-jids.ts';

it('several processes at the same moment never make the same job id', () => {
  const makers = [0, 1, 2].map((part) => new OwnJids(part, 3));
  // The last microseconds of a second, then the next one; the clock stands still at times.
  const times = [1_763_700_000_999.9, 1_763_700_000_999.9, 1_763_700_001_000, 1_763_700_000_000];
  const ids = times.flatMap((ms) =>
    makers.flatMap((maker) => Array.from({ length: 500 }, () => maker.next(ms))),
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every(isJid)).toBe(true);
});

it('ids are of the moment that was given', () => {
  const nowMs = 1_763_700_000_123.456;
  const jid = new OwnJids(1, 2).next(nowMs);
  expect(isJid(jid) && Math.abs(jidTimeMs(jid) - nowMs)).toBeLessThan(0.01);
});
