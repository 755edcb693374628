import { describe, expect, test } from 'vitest';
import { LIMITS } from '../protocol.ts';
import { NotTakenError } from './deliver.ts';
import { messageOf, refuse } from './kafka.ts';
import { recordOf } from './logstash.ts';
import { subjectOf } from './nats.ts';
import { eventIn, splitWords } from './script.ts';
import { judge, thatFit } from './stalekey.ts';

describe('logstash', () => {
  test('an event has the fields of python-logstash, and its own beside them', () => {
    const event = {
      tag: 'salt/job/1/ret/a',
      timeMs: Date.UTC(2026, 10, 25, 8),
      data: { fun: 'test.ping', return: true, id: 'a', name: 'n', '@version': 'x' },
    };
    expect(recordOf(event, 'salt/engine/logstash')).toMatchObject({
      '@timestamp': '2026-11-25T08:00:00.000Z',
      message: 'salt/engine/logstash',
      type: 'logstash',
      level: 'INFO',
      tags: [],
      logger_name: 'python-logstash-logger',
      event_tag: 'salt/job/1/ret/a',
      fun: 'test.ping',
      return: true,
      '@version': 'x',
    });
    // python-logstash keeps these names for itself.
    expect(Object.keys(recordOf(event, ''))).not.toContain('id');
    expect(Object.keys(recordOf(event, ''))).not.toContain('name');
  });
});

describe('nats', () => {
  test.each([
    ['salt.{tag}', 'salt/job/1/ret/a.b', 'salt.salt.job.1.ret.a_b'],
    ['{tag}', 'a//b', 'a._.b'],
    ['{tag}', 'a/*/>/ c', 'a._._._c'],
    ['fixed', 'a/b', 'fixed'],
  ])('%s with %s is %s', (template, tag, subject) => {
    expect(subjectOf(template, tag)).toBe(subject);
  });
});

describe('kafka', () => {
  test('events of one minion have one key', () => {
    const event = {
      id: '7-1_0a',
      tag: 'x/y',
      timeMs: 0,
      data: { id: 'web1' },
      done: () => undefined,
    };
    expect(messageOf(event, 'topic')).toEqual({
      topic: 'topic',
      key: 'web1',
      value: '{"tag":"x/y","data":{"id":"web1"},"time":"1970-01-01T00:00:00.000Z"}',
      headers: { 'brine-event': '7-1_0a', 'salt-tag': 'x/y' },
    });
    expect(messageOf({ ...event, data: {} }, 'topic').key).toBe('x/y');
  });

  test('what a broker finds too large is not sent again, other refusals are', () => {
    // As the client nests them: operation, broker, partition.
    const refusal = (apiId: string): Error => {
      const ofPartition = Object.assign(new Error('refused'), { apiId });
      const ofBroker = new AggregateError([new Error('another'), ofPartition], 'a response');
      return new AggregateError([ofBroker], 'producing failed');
    };
    expect(() => refuse(refusal('MESSAGE_TOO_LARGE'))).toThrow(NotTakenError);
    expect(() => refuse(refusal('RECORD_LIST_TOO_LARGE'))).toThrow(NotTakenError);
    expect(() => refuse(refusal('NOT_LEADER_OR_FOLLOWER'))).toThrow('producing failed');
    expect(() => refuse(new Error('away'))).toThrow('away');
  });
});

describe('script', () => {
  test.each([
    ['/x/y.py -a 1', ['/x/y.py', '-a', '1']],
    [`a 'b c' "d \\" e" f\\ g ''`, ['a', 'b c', 'd " e', 'f g', '']],
    ['  ', []],
  ])('%j is %j', (line, words) => {
    expect(splitWords(line)).toEqual(words);
  });

  test('a quote without an end is refused', () => {
    expect(() => splitWords("a 'b")).toThrow('quote');
  });

  test('a line is an event with the id of the master where it has none', () => {
    expect(eventIn({ tag: 'a', data: { x: 1 } }, 'm')).toEqual({
      tag: 'a',
      data: { x: 1, id: 'm' },
    });
    expect(eventIn({ tag: 'a', data: { id: 'y' } }, 'm')).toEqual({ tag: 'a', data: { id: 'y' } });
    expect(eventIn({ tag: 'a' }, 'm')).toEqual({ tag: 'a', data: {} });
    expect(eventIn({ data: {} }, 'm')).toBeUndefined();
    expect(() => eventIn([1], 'm')).toThrow('no map');
  });
});

describe('stalekey', () => {
  const facts = { accepted: ['a', 'b', 'c'], present: ['a'], nowS: 1_000, expireS: 100 };

  test('the key of a minion goes that was not seen for so long', () => {
    const seen = new Map([
      ['a', 1],
      ['b', 899],
      ['gone', 1],
    ]);
    const judged = judge(seen, facts);
    expect(judged.stale).toEqual(['b']);
    // a is present, c is new, and gone has no key any more.
    expect([...judged.seen]).toEqual([['c', 1_000]]);
  });

  test('a minion at the bound keeps its key', () => {
    expect(judge(new Map([['b', 900]]), facts).stale).toEqual([]);
  });

  test('of more absent minions than can be kept, those that are away for longest are', () => {
    const ids = Array.from({ length: 20_000 }, (_, at) => `minion-${at}.example.com`);
    const seen = new Map(ids.map((id, at) => [id, 1_790_000_000 + ((at * 7) % 20_000)]));
    const kept = thatFit(seen);
    const bytes = JSON.stringify({ at: 1, seen: Object.fromEntries(kept) }).length;
    expect(bytes).toBeLessThanOrEqual(LIMITS.savedBytes);
    expect(bytes).toBeGreaterThan(LIMITS.savedBytes * 0.9);
    const oldest = [...seen.values()].sort((one, other) => one - other);
    expect(kept.map(([, last]) => last)).toEqual(oldest.slice(0, kept.length));
  });
});
