import { describe, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import type { Received } from '../streams/stream-reader.ts';
import { readEventMessage } from '../timeline/read-message.ts';
import { readEvents } from './event-reader.ts';

const BUS = {} as Bus;
const JID = '20261129120000123456';

/** A message of the subject of hooks, as a reader has it. */
function hookWith(headers: Readonly<Record<string, string>>): Received {
  return {
    subject: 'brine.events.hook',
    data: Buffer.from([0x80]),
    header: (name) => headers[name] ?? '',
    headers: () => '',
    settle: () => undefined,
    failed: () => undefined,
    seq: 9,
    consumerSeq: 1,
    timeUs: 5_000_000,
    pending: 0,
    deliveries: 1,
    followsOn: true,
    incarnation: 'one',
  };
}

test.each(['salt/netapi/hook', 'salt/netapi/hook/build/done', 'salt/netapi/hook/gr%C3%BCn'])(
  'a hook may have the tag %s',
  (tag) => {
    const [event] = readEvents(BUS, hookWith({ 'Brine-Tag': tag }), false);
    expect(event).toMatchObject({ kind: 'hook', tag: decodeURIComponent(tag) });
  },
);

describe.each([
  ['read', (received: Received) => readEvents(BUS, received, false)],
  ['followed', (received: Received) => readEventMessage(BUS, received, () => true)],
])('%s', (_, read) => {
  test.each([
    'salt/netapi/hooks',
    'salt/netapi',
    `salt/job/${JID}/ret/web1`,
    'salt/key',
    'salt/auth',
    'minion_start',
    'prefix/salt/netapi/hook',
    'salt/netapi/hook/a%0A%0Ab',
    `salt/netapi/hook/${'a'.repeat(9_000)}`,
    '',
  ])('a hook with the tag %s is no event', (tag) => {
    expect(() => read(hookWith({ 'Brine-Tag': tag }))).toThrow('no event of ours');
  });

  test('a hook that claims to be a page of returns is no event', () => {
    const forged = hookWith({ 'Brine-Tag': 'salt/netapi/hook', 'Brine-Page': '1' });
    expect(() => read(forged)).toThrow('no event of ours');
  });
});

test('a hook is of no job, minion or engine, whatever its headers are', () => {
  const [event] = readEvents(
    BUS,
    hookWith({
      'Brine-Tag': 'salt/netapi/hook/a',
      'Brine-Jid': JID,
      'Brine-Minion': 'web1',
      'Brine-Engine': 'slack',
      'Brine-Link': '00-ab-cd-01',
      'Brine-Proof': '1.a',
      'Brine-Traced': '1',
    }),
    false,
  );
  expect(event).toMatchObject({
    jid: undefined,
    minion: undefined,
    engine: undefined,
    link: undefined,
    proof: undefined,
    traced: false,
  });
});
