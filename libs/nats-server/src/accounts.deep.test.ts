import { connectBus, ensureStreams } from '@brine/bus';
import { makeConsumers } from '@brine/bus/apart';
import { EventReader, EventWriter } from '@brine/bus/events';
import { startNatsCluster } from '@brine/testing/nodes';
import { expect, test } from 'vitest';

/** More than a reader asks for at once. */
const COUNT = 1_200;

test('a service apart from the streams reads through each server of a cluster', async () => {
  await using cluster = await startNatsCluster();
  const { certificates } = cluster;
  await using owner = await connectBus({ url: cluster.url, name: 'event-bus', certificates });
  await ensureStreams(owner, { replicas: 3, totalBytes: 1024 ** 3 / 2 });
  makeConsumers(owner);
  await using worker = await connectBus({ url: cluster.url, name: 'worker-pool', certificates });
  const writer = new EventWriter(worker);
  const tags = Array.from({ length: COUNT }, (_, n) => `tag/${n}`);
  for (const tag of tags) await writer.append({ kind: 'auth', tag, body: Buffer.from([0x80]) });
  for (const url of cluster.url.split(',')) {
    await using store = await connectBus({ url, name: 'job-cache-returner', certificates });
    for (const place of [{ durable: 'store' }, { from: 'all' }] as const) {
      const reader = new EventReader(store, { ...place, kinds: ['auth'] });
      const read: string[] = [];
      for await (const batch of reader.batches(500)) {
        read.push(...batch.map(({ tag }) => tag));
        if (read.length >= COUNT) break;
      }
      reader.close();
      expect(read, url).toEqual(tags);
      // The next one begins anew.
      await owner.inbox.request('$JS.API.CONSUMER.DELETE.EVENTS.store', '', { timeoutMs: 10_000 });
    }
  }
}, 300_000);
