import { Bucket } from '@brine/bus';
import { PublicationWriter } from '@brine/bus/jobs';
import { startNats, type TestNats } from '@brine/testing';
import { expect, it } from 'vitest';
import { jobLookups } from './job-lookups.ts';
import { StreamPublications } from './streams.ts';

const FIRST = '20261120171037123456';
const SECOND = '20261120171037123457';

async function publicationsOf(nats: TestNats): Promise<StreamPublications> {
  const bus = await nats.connect('worker-pool');
  return new StreamPublications({
    bus,
    writer: new PublicationWriter(bus),
    requests: new Bucket(bus, 'brine_requests'),
    telemetry: { recordSpan: () => undefined } as never,
    events: { full: false },
    lookups: jobLookups(bus, 'local_cache'),
  });
}

it('a command that comes to several workers begins one run', async () => {
  await using nats = await startNats();
  const [one, other] = [await publicationsOf(nats), await publicationsOf(nats)];
  expect(await one.begin('root\0c1', FIRST)).toBeUndefined();
  expect(await one.begin('root\0c1', FIRST)).toBe(FIRST);
  expect(await other.begin('root\0c1', SECOND)).toBe(FIRST);
  expect(await other.begin('anne\0c1', SECOND)).toBeUndefined();

  const atOnce = [one, other].map((worker, index) => worker.begin('root\0c2', `${index}`));
  const begun = await Promise.all(atOnce);
  expect(begun.filter((jid) => jid === undefined)).toHaveLength(1);
});
