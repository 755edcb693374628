import { startNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import { EventReader } from '../events/event-reader.ts';
import { EventWriter } from '../events/event-writer.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import { changeSubjects } from './reader-subjects.ts';

const BODY = Buffer.from([0x80]);

test('a durable reader that wants other kinds keeps its place', async () => {
  await using nats = await startNats();
  const bus = await nats.connect('worker-pool');
  const writer = new EventWriter(bus);
  const fire = (kind: 'auth' | 'minion', n: number) =>
    writer.append({ kind, tag: `${kind}/${n}`, body: BODY, msgId: `${kind}${n}` });
  const seen: string[] = [];
  const follow = (kinds: readonly ('auth' | 'minion')[]) => {
    const reader = new EventReader(bus, { durable: 'reactor', kinds, from: 'all' });
    const reading = (async () => {
      for await (const event of reader) {
        seen.push(event.tag);
        event.ack();
      }
    })();
    return { close: () => reader.close(), reading };
  };
  await fire('auth', 1);
  await fire('minion', 1);
  const first = follow(['auth']);
  await until('the first kind is read', () => seen.includes('auth/1'));
  await changeSubjects(bus, STREAMS.events, 'reactor', [
    subjects.event('auth'),
    subjects.event('minion'),
  ]);
  await fire('minion', 2);
  await fire('auth', 2);
  await until('both kinds are read', () => seen.includes('minion/2') && seen.includes('auth/2'));
  expect(seen.filter((tag) => tag === 'auth/1')).toHaveLength(1);
  // The same again changes nothing, and neither does a reader that is not there.
  await changeSubjects(bus, STREAMS.events, 'reactor', [
    subjects.event('minion'),
    subjects.event('auth'),
  ]);
  await changeSubjects(bus, STREAMS.events, 'nobody', [subjects.event('auth')]);
  first.close();
  await first.reading;
});
