import { isJid } from '@brine/job';
import { listOf, textOf, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { isQuestionJid, presenceQuestion, questionJid } from './presence-question.ts';

test('the question is a hidden find_job of itself, for these minions alone', () => {
  const jid = questionJid('20261126030000000000', '00ff00ff');
  expect(isJid(jid)).toBe(true);
  expect(isQuestionJid(jid)).toBe(true);
  expect(isQuestionJid('20261126030000000000')).toBe(false);
  expect(isQuestionJid('20261126030000000000_durableab')).toBe(false);
  const job = presenceQuestion(['web1', 'web2'], { jid, now: 1_000, masterId: 'm' });
  expect(job).toMatchObject({
    jid,
    hidden: true,
    minions: ['web1', 'web2'],
    missing: [],
    tgtType: 'list',
    notAfter: 11_000,
    publishedAt: 1_000,
  });
  const sent = unpackMap(job.publication);
  expect(textOf(sent, 'fun')).toBe('saltutil.find_job');
  expect(listOf(sent, 'arg')).toEqual([jid]);
  expect(listOf(sent, 'tgt')).toEqual(['web1', 'web2']);
  expect(textOf(sent, 'tgt_type')).toBe('list');
  expect(textOf(sent, 'master_id')).toBe('m');
  expect(sent.has('serial')).toBe(false);
});
