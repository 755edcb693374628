import { EventWriter } from '@brine/bus/events';
import { PublicationWriter, waitWritten } from '@brine/bus/jobs';
import type { Job } from '@brine/job';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { jobOf, newJid, tagsOf, TestHost, TestMaster } from './start.fixture.ts';

let master: TestMaster;
let host: TestHost;
beforeAll(async () => {
  master = await TestMaster.start();
});
afterAll(() => master.close());
beforeEach(async () => {
  host = new TestHost(master);
  await host.start();
});
afterEach(() => host.close());

async function publish(jid: string, marks: Partial<Job> = {}): Promise<readonly string[]> {
  const wait = waitWritten(master.worker, [`host:${host.name}`], 3_000);
  await new PublicationWriter(master.worker).appendJob(
    { ...jobOf(jid, host.name), ...marks },
    { written: wait.subject },
  );
  return (await wait.done).missing;
}

it('a job with a load of no form stops neither the jobs after it nor a start', async () => {
  const bad = newJid();
  expect(await publish(bad, { load: Buffer.from('c1', 'hex') })).toEqual([`host:${host.name}`]);
  expect(await publish(newJid())).toEqual([]);
  expect(host.failures).toEqual([]);
  await host.restart();
  expect(await publish(newJid())).toEqual([]);
});

it('an event that can not be sent on stops no reader of events', async () => {
  const { seen, client } = await host.reader();
  const writer = new EventWriter(master.worker);
  const fire = (tag: string, body: Buffer): Promise<unknown> =>
    writer.append({ kind: 'minion', tag, body });
  await fire('odd/one', Buffer.from('c1', 'hex'));
  await fire('odd/deep', Buffer.concat([Buffer.alloc(200_000, 0x91), pack(mapOf({}))]));
  await fire('good/one', pack(mapOf({ id: 'm1' })));
  await until('the event after the unreadable ones is seen', () =>
    expect(tagsOf(seen)).toContain('good/one'),
  );
  client.close();
});
