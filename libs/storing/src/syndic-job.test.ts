import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { syndicJob } from './syndic-job.ts';

test('a job below is storable as a syndic reports it, whatever its content', () => {
  const text = `x\0\ud83d${'\u{1F600}'.repeat(2_000)}`;
  const load = mapOf({ user: text, fun: [text], tgt: text, tgt_type: text });
  const jid = '20261122080000123456';
  const facts = mapOf({ jid, syndic: 's', ids: ['m', 'a\0'], deadline: 1, load });
  const job = syndicJob(facts, { timeMs: 1, incarnation: 'i', seq: 1 });
  const texts = [job.user, job.fun, job.tgt, job.tgtType].flat();
  for (const one of texts) {
    expect(one).toMatch(/^x/);
    expect(one).not.toMatch(/\0|\p{Surrogate}/u);
    expect([...one].length).toBeLessThanOrEqual(1_001);
  }
  expect(job.minions).toEqual(['m']);
});
