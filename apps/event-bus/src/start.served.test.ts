import { once } from 'node:events';
import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { EventWriter } from '@brine/bus/events';
import { awaitJobFiles, PublicationWriter, waitWritten } from '@brine/bus/jobs';
import { JobFiles, readUserKey } from '@brine/cachedir';
import { fireEvent } from '@brine/ipc';
import { until } from '@brine/testing/waits';
import { mapOf, pack, textOf } from '@brine/wire';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jobOf, newJid, returnOf, tagsOf, TestHost, TestMaster } from './start.fixture.ts';

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

describe('a job', () => {
  it('is on disk before its events are sent, and reported as written', async () => {
    const { seen, client } = await host.reader();
    const jid = newJid();
    const wait = waitWritten(master.worker, [`host:${host.name}`], 10_000);
    await new PublicationWriter(master.worker).appendJob(jobOf(jid, host.name), {
      written: wait.subject,
    });
    expect(await wait.done).toEqual({ missing: [] });
    const files = new JobFiles({ cachedir: host.cache() });
    expect(textOf((await files.readLoad(jid)) ?? new Map(), 'fun')).toBe('test.ping');
    expect(await files.readMinions(jid)).toEqual(['m1', 'm2']);
    await until('the events of the new job are seen', () =>
      expect(tagsOf(seen)).toEqual([`salt/job/${jid}/new`, `salt/job/${jid}/publish`]),
    );
    const data = seen[0]?.data;
    expect([...(data?.keys() ?? [])]).toEqual([
      'jid',
      'tgt_type',
      'tgt',
      'user',
      'fun',
      'arg',
      'minions',
      'missing',
      '_stamp',
    ]);
    expect(data?.get('_stamp')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
    client.close();
  });

  it('is found by a worker that asks the host for it', async () => {
    const jid = newJid();
    const at = { host: host.name, jid };
    const patience = { busyMs: 0, absentMs: 0 };
    expect(await awaitJobFiles(master.worker, at, patience)).toBe(false);
    await new PublicationWriter(master.worker).appendJob(jobOf(jid, host.name));
    expect(await awaitJobFiles(master.worker, at, { ...patience, busyMs: 60_000 })).toBe(true);
    const nowhere = { host: 'nowhere', jid };
    expect(await awaitJobFiles(master.worker, nowhere, patience)).toBe(false);
  });

  it('is announced before a return that came first', async () => {
    // No return goes out before its job, however slow the machine is.
    await host.service.close();
    await host.start({ returnWaitMs: 600_000 });
    const { seen, client } = await host.reader();
    const jid = newJid();
    const [publications, job] = [new PublicationWriter(master.worker), jobOf(jid, host.name)];
    await new EventWriter(master.worker).append(returnOf(jid, 'm1'));
    await new EventWriter(master.worker).append({
      kind: 'minion',
      tag: 'other',
      body: pack(mapOf({})),
    });
    await until('the event after the return is seen', () =>
      expect(tagsOf(seen)).toContain('other'),
    );
    // A return that waited and was sent shows by which way it went.
    const held = { waiting: 1, held: 1, timedOut: 0, overflowed: 0 };
    expect([tagsOf(seen), host.held()]).toEqual([['other'], held]);
    await publications.appendJob(job);
    await until('the events of the job and its return are seen', () =>
      expect(seen).toHaveLength(4),
    );
    expect(tagsOf(seen).slice(1)).toEqual([
      `salt/job/${jid}/new`,
      `salt/job/${jid}/publish`,
      `salt/job/${jid}/ret/m1`,
    ]);
    expect(seen[3]?.data.get('return')).toEqual(Buffer.from([0xff, 0]));
    client.close();
  });

  it('that a minion started itself shows its return when its wait is over', async () => {
    const { seen, client } = await host.reader();
    const jid = newJid();
    await new EventWriter(master.worker).append(returnOf(jid, 'm1'));
    await until('the return is shown', () =>
      expect(tagsOf(seen)).toEqual([`salt/job/${jid}/ret/m1`]),
    );
    expect(host.held()).toMatchObject({ waiting: 0, timedOut: 1, overflowed: 0 });
    client.close();
  });

  it('that was published while the event bus was away gets its files', async () => {
    await host.service.close();
    const jid = newJid();
    await new PublicationWriter(master.worker).appendJob(jobOf(jid, host.name));
    await host.start();
    const files = new JobFiles({ cachedir: host.cache() });
    await until('the job has its files', async () => expect(await files.has(jid)).toBe(true));
  });

  it("gets its returns into files in the background, for the host.name's stock tools", async () => {
    const jid = newJid();
    await new PublicationWriter(master.worker).appendJob(jobOf(jid, host.name));
    await new EventWriter(master.worker).append(returnOf(jid, 'm1'));
    const files = new JobFiles({ cachedir: host.cache() });
    await until('the return is in its file', async () =>
      expect(await files.readReturns(jid)).toHaveLength(1),
    );
    const [one] = await files.readReturns(jid);
    expect(one?.value).toEqual(
      mapOf({ return: Buffer.from([0xff, 0]), retcode: 0, success: true }),
    );
  });
});

describe("a syndic's list of minions", () => {
  const told = (jid: string) =>
    new EventWriter(master.worker).append({
      kind: 'syndic',
      tag: `syndic/syn/salt/job/${jid}/new`,
      body: pack(mapOf({ jid, fun: 'test.ping', tgt: 'low*', minions: ['low2', 'low1'] })),
    });

  it('adds to the minions of a job, whose load stays', async () => {
    const jid = newJid();
    await new PublicationWriter(master.worker).appendJob(jobOf(jid, host.name));
    const files = new JobFiles({ cachedir: host.cache() });
    await until('the job has its files', async () => expect(await files.has(jid)).toBe(true));
    const load = await files.readLoad(jid);
    await told(jid);
    const all = ['low1', 'low2', 'm1', 'm2'];
    await until('the minions of the syndic are added', async () =>
      expect(await files.readMinions(jid)).toEqual(all),
    );
    expect(await files.readLoad(jid)).toEqual(load);
    await until('the file of the syndic is there', () =>
      expect(statSync(host.cache('syndics', 'syn')).isFile()).toBe(true),
    );
  });

  it('makes the files of a job that was not published here', async () => {
    const jid = newJid();
    await told(jid);
    const files = new JobFiles({ cachedir: host.cache() });
    await until('the minions of the job are written', async () =>
      expect(await files.readMinions(jid)).toEqual(['low1', 'low2']),
    );
    expect(await files.readLoad(jid)).toEqual(
      mapOf({ jid, fun: 'test.ping', tgt: 'low*', arg: [], tgt_type: 'glob' }),
    );
  });
});

describe('event sockets', () => {
  it('give one event once to readers of each framing, wherever it was fired', async () => {
    const readers = [await host.reader(), await host.reader('bare'), await host.reader('prefixed')];
    const data = pack(mapOf({ a: 1, b: Buffer.from([0xff]), _stamp: 'mine' }), 'bin');
    await fireEvent('my/tag', data, { path: host.sock('master_event_pull.ipc') });
    const prefixed = host.sock('prefixed', 'master_event_pull.ipc');
    await fireEvent('my/other', data, { path: prefixed, framing: 'prefixed' });
    for (const { seen, client } of readers) {
      await until('both events are seen', () =>
        expect(tagsOf(seen)).toEqual(['my/tag', 'my/other']),
      );
      expect(seen[0]?.data).toEqual(mapOf({ a: 1, b: Buffer.from([0xff]), _stamp: 'mine' }));
      client.close();
    }
  });

  it('give nothing old to a client that connects later', async () => {
    const early = await host.reader();
    await new EventWriter(master.worker).append({
      kind: 'minion',
      tag: 'old',
      body: pack(mapOf({})),
    });
    await until('the old event is seen', () => expect(tagsOf(early.seen)).toEqual(['old']));
    early.client.close();
    const { seen, client } = await host.reader();
    await new EventWriter(master.worker).append({
      kind: 'minion',
      tag: 'new',
      body: pack(mapOf({})),
    });
    await until('the new event is seen', () => expect(tagsOf(seen)).toEqual(['new']));
    client.close();
  });

  it('trim bodies above max_event_size', async () => {
    const { seen, client } = await host.reader();
    const jid = newJid();
    await new PublicationWriter(master.worker).appendJob(jobOf(jid, host.name));
    const body = pack(mapOf({ id: 'm1', jid, return: 'x'.repeat(2_000_000) }));
    await new EventWriter(master.worker).append({ ...returnOf(jid, 'm1'), body });
    await until('the three events of the job are seen', () => expect(seen).toHaveLength(3));
    // On a busy machine the return is not delayed long enough to be the last one.
    const returned = seen.find(({ tag }) => tag === `salt/job/${jid}/ret/m1`);
    expect(returned?.data.get('return')).toBe('VALUE_TRIMMED');
    expect(returned?.data.get('id')).toBe('m1');
    client.close();
  });

  it('stand beside the files that stock tools look for', () => {
    for (const name of ['publish_pull.ipc', 'workers.ipc']) {
      expect(statSync(host.sock(name)).isFile()).toBe(true);
    }
    for (const name of ['master_event_pub.ipc', 'master_event_pull.ipc']) {
      expect(statSync(host.sock(name)).mode & 0o777).toBe(0o600);
    }
  });

  it('take the place of sockets that a stock master left', async () => {
    const left = createServer().listen(host.sock('left.ipc'));
    await once(left, 'listening');
    rmSync(host.sock('publish_pull.ipc'));
    renameSync(host.sock('left.ipc'), host.sock('publish_pull.ipc'));
    left.close();
    await host.restart();
    expect(statSync(host.sock('publish_pull.ipc')).isFile()).toBe(true);
  });

  it("may be read by the master's group with publisher_acl, and written by none", async () => {
    await host.restart({ publisher_acl: { nobody: ['test.*'] } });
    const readers = statSync(host.sock('master_event_pub.ipc'));
    expect(readers.mode & 0o777).toBe(0o660);
    expect(readers.gid).toBe(process.getgid?.());
    expect(statSync(host.sock('master_event_pull.ipc')).mode & 0o777).toBe(0o600);
    expect(await readUserKey(host.cache(), 'nobody')).toHaveLength(76);
  });
});

it('status shows readers and counts', () => {
  expect(host.service.status()).toMatchObject({ bus: 'connected', keys: { inStep: true } });
  expect(readFileSync(host.pki('master.pub'), 'utf8')).toContain('PUBLIC KEY');
});
