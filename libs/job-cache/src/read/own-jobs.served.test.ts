import { jobRow } from '@brine/testing';
import { expect, test } from 'vitest';
import { jobCacheScene } from '../../test/job-cache-scene.ts';

const { cache } = await jobCacheScene();

test('of the asked jobs those of the user are its own', async () => {
  const [mine, other, never] = [1, 2, 3].map((n) => `2026112011000000000${n}`) as [
    string,
    string,
    string,
  ];
  await cache.saveJobs([jobRow(mine, { user: 'alice' }), jobRow(other, { user: 'bob' })]);
  expect(await cache.ownJobs('alice', [mine, other, never])).toEqual([mine]);
  expect(await cache.ownJobs('carol', [mine, other, never])).toEqual([]);
  const many = Array.from({ length: 501 }, () => mine);
  await expect(cache.ownJobs('alice', many)).rejects.toThrow(RangeError);
});
