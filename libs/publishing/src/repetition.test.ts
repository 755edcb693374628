import type { Job } from '@brine/job';
import { mapOf, pack, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { narrowed } from './again-rule.ts';

const JOB: Job = {
  jid: '20261123010203000004',
  publication: pack(mapOf({ fun: 'test.ping', tgt: 'web*', tgt_type: 'glob', ret: '' })),
  load: new Uint8Array(0),
  principal: 'root key',
  user: 'root',
  fun: 'test.ping',
  tgt: 'web*',
  tgtType: 'glob',
  minions: ['web-1', 'web-2', 'web-3'],
  missing: [],
  publishedAt: 1,
  deadlineAt: 2,
  notAfter: 3,
  hidden: false,
  host: 'h',
  requestId: 'r',
};

test('a job for those that wait keeps all but its target', () => {
  const job = narrowed(JOB, ['web-3', 'web-1']);
  expect(job).toMatchObject({ jid: JOB.jid, tgtType: 'list', minions: ['web-3', 'web-1'] });
  const sent = unpackMap(job?.publication ?? new Uint8Array(0));
  expect(Object.fromEntries(sent)).toEqual({
    fun: 'test.ping',
    ret: '',
    tgt: ['web-3', 'web-1'],
    tgt_type: 'list',
  });
});

test('of several publications of one jid each is for its own minions', () => {
  const second = { ...JOB, piece: '2', minions: ['db-1', 'db-2'] };
  const waiting = ['web-2', 'db-2'];
  expect(narrowed(JOB, waiting)?.minions).toEqual(['web-2']);
  expect(narrowed(second, waiting)).toMatchObject({ piece: '2', minions: ['db-2'] });
  expect(narrowed(second, ['web-2'])).toBeUndefined();
});
