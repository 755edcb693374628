import { expect, test } from 'vitest';
import { notInFiles, unreadable } from './stock-home.ts';

test.each([
  [{}, undefined],
  [{ 'keys.cache_driver': 'localfs_key' }, undefined],
  [{ 'keys.cache_driver': 'mmap_key' }, /its minion keys are in mmap_key/],
  [{ cluster_id: 'one', cluster_pki_dir: '/srv/pki' }, undefined],
  [{ cluster_id: 'one', cluster_isolated_filesystem: true }, /share cluster_pki_dir first/],
])('of %j the refusal is %s', (written, expected) => {
  const reason = unreadable({ written });
  if (expected === undefined) expect(reason).toBeUndefined();
  else expect(reason).toMatch(expected);
});

test('what is not in files is named, one line each', () => {
  const written = {
    cache: 'redis',
    eauth_tokens: 'rediscluster',
    master_job_cache: 'mysql',
    cluster_id: 'one',
  };
  const notes = notInFiles({ written });
  expect(notes).toHaveLength(4);
  expect(notes[0]).toContain('saltutil.refresh_pillar');
  expect(notInFiles({ written: { cache: 'localfs', master_job_cache: 'pgjsonb' } })).toEqual([]);
});
