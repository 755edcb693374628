import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isJid,
  isMinionId,
  type Jid,
  JidMaker,
  jidStartTime,
  jidTimeMs,
  jobNewTag,
  jobProgressTag,
  jobPublishTag,
  jobReturnTag,
  mayBeOffered,
  mayHaveKey,
  minionStartTag,
  Outstanding,
  parseTag,
  spanIdOf,
  traceIdOf,
} from './index.ts';

const JID = '20261120171037123456' as Jid;
const NOW = Date.UTC(2026, 10, 20, 17, 10, 37, 123) + 0.456;

describe('job ids', () => {
  test('a jid is the UTC moment in microseconds', () => {
    expect(new JidMaker().next(NOW)).toBe(JID);
    expect(jidTimeMs(JID)).toBeCloseTo(NOW, 2);
    expect(jidStartTime(JID)).toBe('2026, Nov 20 17:10:37.123456');
  });
  test('jids of one maker only grow, whatever the clock does', () => {
    const moments = fc.array(fc.double({ min: 0, max: 4e12, noNaN: true }), { maxLength: 50 });
    fc.assert(
      fc.property(moments, (times) => {
        const maker = new JidMaker();
        const jids = times.map((ms) => maker.next(ms));
        expect(jids.every(isJid)).toBe(true);
        expect([...new Set(jids)].sort()).toEqual(jids);
      }),
    );
  });
  test('a time outside the calendar is refused and does not spoil the maker', () => {
    const maker = new JidMaker();
    expect(() => maker.next(Number.NaN)).toThrow(RangeError);
    expect(() => maker.next(1e17)).toThrow(RangeError);
    expect(maker.next(NOW)).toBe(JID);
  });
  test.each([
    [JID, true],
    [`${JID}_4711`, true],
    [`${JID}_`, false],
    [`${JID}/../x`, false],
    [`${JID}_../../x`, false],
    ['2026112017103712345', false],
    [`${JID}\n`, false],
    ['req', false],
    [20261120171037, false],
    [undefined, false],
  ])('%j is a jid: %s', (value, expected) => {
    expect(isJid(value)).toBe(expected);
  });
  test('a month that does not exist has no start time', () => {
    expect(jidStartTime('20269920171037123456' as Jid)).toBe('');
  });
  test('trace and span ids are fixed by the jid', () => {
    expect(traceIdOf(JID)).toMatch(/^[0-9a-f]{32}$/);
    expect(traceIdOf(JID)).toBe(traceIdOf(JID));
    expect(spanIdOf(JID, 'store.web1')).toMatch(/^[0-9a-f]{16}$/);
    expect(spanIdOf(JID, 'store.web1')).not.toBe(spanIdOf(JID, 'store.web2'));
  });
});

describe('tags', () => {
  test('each tag that is made can be read back', () => {
    expect(parseTag(jobNewTag(JID))).toEqual({ kind: 'job-new', jid: JID });
    expect(parseTag(jobPublishTag(JID))).toEqual({ kind: 'job-publish', jid: JID });
    expect(parseTag(jobReturnTag(JID, 'web1.x'))).toEqual({
      kind: 'job-return',
      jid: JID,
      id: 'web1.x',
    });
    expect(parseTag(jobProgressTag(JID, 'web1', 3))).toEqual({
      kind: 'job-progress',
      jid: JID,
      id: 'web1',
      part: '3',
    });
    expect(parseTag(minionStartTag('web1'))).toEqual({ kind: 'minion-start', id: 'web1' });
    expect(parseTag(`salt/run/${JID}/ret`)).toEqual({ kind: 'run', jid: JID, step: 'ret' });
    expect(parseTag(`syndic/s1/${jobReturnTag(JID, 'a')}`)).toEqual({
      kind: 'syndic',
      id: 's1',
      tag: jobReturnTag(JID, 'a'),
    });
  });
  test('any text can be read', () => {
    fc.assert(fc.property(fc.string(), (tag) => parseTag(tag).kind.length > 0));
    expect(parseTag('salt/job/req/new')).toEqual({ kind: 'other' });
    expect(parseTag(`salt/job/${JID}/ret/`)).toEqual({ kind: 'other' });
    expect(parseTag(`salt/job/${JID}/ret/a/b`)).toEqual({ kind: 'other' });
  });
});

describe('minion ids', () => {
  test.each(['web1', 'web1.example.com', 'a b', '.x', 'ÄÖ', '*', 'ü'.repeat(127)])(
    '%j may name a minion',
    (id) => expect(isMinionId(id)).toBe(true),
  );
  const refused = ['', '.', '..', 'a/b', 'a\\b', 'a\0', '../x', 'a\n', '\u001b[2J', '\ud800'];
  test.each([...refused, 'ü'.repeat(128), 'a'.repeat(256), 7, null])(
    '%j may not name a minion',
    (id) => expect(isMinionId(id)).toBe(false),
  );
});

describe('ids that may have a key', () => {
  test.each(['web1', 'web1.example.com', 'a b', 'x~', 'web1.', 'Web1', 'db:1', 'a@b', 'é', '日本'])(
    '%j may',
    (id) => expect(mayHaveKey(id)).toBe(true),
  );
  const hidden = ['.x', '.', '...', '.ssh'];
  const commands = ['-rf', '--', '-', '*', 'web*', 'a?', '[a]', 'a]', 'a,b', ','];
  const spaces = [' a', 'a ', ' ', 'a\u00a0b', 'a\u3000b', 'a\u2028b', 'a\tb'];
  const unseen = [
    'a\u200b',
    '\ufeffa',
    'a\u202eb',
    'a\u00adb',
    'a\u0085b',
    'a\u009b2J',
    'a\u2066b',
  ];
  const twice = ['e\u0301', '\u212b', '\u1100\u1161'];
  test.each([...hidden, ...commands, ...spaces, ...unseen, ...twice, '', '..', 'a/b', 7, null])(
    '%j may not',
    (id) => expect(mayHaveKey(id)).toBe(false),
  );
});

describe('ids that strangers may offer', () => {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
  const plain = ascii.filter((sign) => /[\w.:@%+-]/.test(sign));
  test.each(plain)('a%j may stand in one', (sign) => expect(mayBeOffered(`a${sign}b`)).toBe(true));
  test.each(ascii.filter((sign) => !plain.includes(sign)))('%j may not', (sign) => {
    expect(mayBeOffered(`a${sign}b`)).toBe(false);
    // Among the signs that keys may have, the option allows each.
    expect(mayBeOffered(`a${sign}b`, sign)).toBe(mayHaveKey(`a${sign}b`));
  });
  test('letters of other alphabets are plain', () => expect(mayBeOffered('日本-é')).toBe(true));
});

describe('the ledger of a job', () => {
  test('a minion counts once and a late return moves it from never to late', () => {
    const ledger = new Outstanding(['a', 'b', 'c'], 100);
    expect(ledger.book('a', false, 50)).toBe('returned');
    expect(ledger.book('a', true, 60)).toBe('again');
    expect(ledger.book('b', true, 70)).toBe('failed');
    expect([...ledger.waiting]).toEqual(['c']);
    ledger.close();
    expect(ledger.counts()).toMatchObject({ targeted: 3, waiting: 0, never: 1 });
    expect(ledger.book('c', false, 200)).toBe('late');
    expect(ledger.counts()).toEqual({
      targeted: 3,
      waiting: 0,
      returned: 1,
      failed: 1,
      late: 1,
      never: 0,
    });
  });
  test('a return from outside the set adds its minion as unexpected', () => {
    const ledger = new Outstanding([]);
    expect(ledger.book('x', false, 1)).toBe('returned');
    expect([...ledger.unexpected]).toEqual(['x']);
    ledger.expect(['x', 'y']);
    expect([...ledger.unexpected]).toEqual([]);
    expect(ledger.counts()).toMatchObject({ targeted: 2, waiting: 1, returned: 1 });
  });
  test('targeted is always the sum of the other counts', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const step = fc.oneof(
      fc.record({ do: fc.constant('book' as const), id, failed: fc.boolean(), at: fc.nat(200) }),
      fc.record({ do: fc.constant('expect' as const), id }),
      fc.record({ do: fc.constant('close' as const) }),
    );
    fc.assert(
      fc.property(fc.array(id), fc.array(step), (targeted, steps) => {
        const ledger = new Outstanding(targeted, 100);
        const seen = new Set(targeted);
        for (const one of steps) {
          if (one.do === 'close') ledger.close();
          else seen.add(one.id);
          if (one.do === 'book') ledger.book(one.id, one.failed, one.at);
          if (one.do === 'expect') ledger.expect([one.id]);
          const c = ledger.counts();
          expect(c.targeted).toBe(c.waiting + c.returned + c.failed + c.late + c.never);
          expect(c.targeted).toBe(seen.size);
          if (ledger.closed) expect(c.waiting).toBe(0);
        }
      }),
    );
  });
});
