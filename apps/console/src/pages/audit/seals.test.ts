import type { RunDetail } from '@brine/api/runs';
import { expect, test } from 'vitest';
import { sealsOf } from './seals.ts';

function ended(success: boolean, result: unknown): RunDetail {
  const run = { jid: '1', client: 'runner', fun: 'audit.verify', user: 'root' } as const;
  return { ...run, state: 'ended', success, arg: [], kwarg: {}, result };
}

test('an intact record is one', () => {
  const seals = sealsOf(ended(true, { intact: true, rows: 1_200, writers: 2, faults: [] }));
  expect(seals).toEqual({
    isIntact: true,
    text: '1,200 rows of 2 writers: all seals are intact.',
  });
});

test('a broken record names its faults', () => {
  const faults = ['w1 7: was changed or moved'];
  const seals = sealsOf(ended(true, { intact: false, rows: 9, writers: 1, faults }));
  expect(seals.isIntact).toBe(false);
  expect(seals.text).toContain('w1 7: was changed or moved');
});

test('a check that failed, or has another form, finds nothing intact', () => {
  for (const run of [
    ended(false, { intact: true }),
    ended(false, 'no key'),
    ended(true, null),
    ended(true, { intact: 'yes' }),
  ]) {
    expect(sealsOf(run)).toMatchObject({ isIntact: false });
  }
  expect(sealsOf(ended(false, 'no key')).text).toContain('no key');
});
