import { expect, test } from 'vitest';
import { type EventFilter, eventTest } from './event-filter.ts';

const EVENT = { tag: 'salt/job/17/ret/web1', kind: 'ret', jid: '17', minion: 'web1' } as const;

test.each<[EventFilter, boolean]>([
  [{}, true],
  [{ tag: 'salt/job/*' }, true],
  [{ tag: 'salt/job' }, false],
  [{ minion: 'web?' }, true],
  [{ minion: 'db*' }, false],
  [{ jid: '17' }, true],
  [{ jid: '1' }, false],
  [{ kind: 'ret' }, true],
  [{ kind: 'auth' }, false],
  [{ tag: 'salt/*', minion: 'web1', jid: '17', kind: 'ret' }, true],
  [{ tag: 'salt/*', minion: 'web2', jid: '17', kind: 'ret' }, false],
])('%j takes the event: %s', (filter, expected) => {
  expect(eventTest(filter)(EVENT)).toBe(expected);
});

test('a jid is found in the tag of an event that has none of its own', () => {
  expect(eventTest({ jid: '17' })({ tag: 'salt/job/17/new', kind: 'job' })).toBe(true);
});

test('an event without a minion is of no minion, but of any', () => {
  const local = { tag: 'site/one', kind: 'local' } as const;
  expect(eventTest({ minion: 'web*' })(local)).toBe(false);
  expect(eventTest({ minion: '*' })(local)).toBe(true);
});
