import { mapOf, pack, type SaltValue, scanMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { bornJob } from './born-job.ts';
import { functionText } from './prepare-return.ts';

/** Characters that jsonb refuses, in text that is not escaped. */
const UNSTORABLE = /\0|\p{Surrogate}/u;

const PLACE = { receivedAt: 1, incarnation: 'i', seq: 1 };
const JID = '20261122080000123456';

test.each<readonly [string, SaltValue]>([
  ['a NUL', 'x\0y'],
  ['half of a pair', 'x\ud83dy'],
  ['a long run of emoji', `x${'\u{1F600}'.repeat(2_000)}`],
])('%s in the job of a return costs no column of it', (_what, text) => {
  const load = mapOf({ tgt: text, tgt_type: text, user: text, return: text });
  for (const fun of [text, [text, 'test.ping']]) {
    load.set('fun', fun);
    const packed = pack(load);
    const born = bornJob({ jid: JID, id: 'web1', load: packed, ...PLACE }, scanMap(packed));
    const told = [born?.fun, born?.tgt, born?.tgtType, born?.user].flat();
    expect(told.length).toBeGreaterThan(3);
    expect(told.join('')).not.toMatch(UNSTORABLE);
    for (const one of told) expect([...(one ?? '')].length).toBeLessThanOrEqual(1_001);
    expect(functionText(load)).not.toMatch(UNSTORABLE);
  }
});
