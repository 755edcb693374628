import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobFiles } from '@brine/cachedir';
import type { Job } from '@brine/job';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JobFeed } from './job-feed.ts';
import { Readers } from './readers.ts';

const JOB: Job = {
  jid: '20261122030000000001',
  publication: pack(mapOf({ fun: 'test.ping' })),
  load: pack(mapOf({ fun: 'test.ping', arg: [] })),
  user: 'root',
  fun: 'test.ping',
  tgt: '*',
  tgtType: 'glob',
  minions: ['m1', 'm2'],
  missing: [],
  principal: 'root key',
  host: 'h',
  requestId: 'r',
  hidden: false,
  publishedAt: 0,
  deadlineAt: 60_000,
  notAfter: 30_000,
};

let cachedir = '';
beforeEach(() => {
  cachedir = mkdtempSync(join(tmpdir(), 'job-feed-'));
});
afterEach(() => {
  chmodSync(cachedir, 0o755);
  rmSync(cachedir, { recursive: true, force: true });
});

function feeding(announceSinceMs = 0) {
  const acts: string[] = [];
  const readers = new Readers([], 1_000);
  const feed = new JobFeed({
    files: new JobFiles({ cachedir }),
    readers,
    announceSinceMs,
    writer: 'host:h',
    announced: () => acts.push(`announced ${readers.stats().fired}`),
    onTrouble: () => acts.push('trouble'),
  });
  const message = (deliveries: number) => ({
    timeUs: 5_000_000,
    deliveries,
    written: (by: string) => acts.push(`written ${by}`),
    ack: () => acts.push('ack'),
    failed: () => acts.push('failed'),
  });
  return { feed, message, acts };
}

it('a job is written, announced by two events, reported, acknowledged, in this order', async () => {
  const { feed, message, acts } = feeding();
  await feed.handle(JOB, message(1));
  expect(acts).toEqual(['announced 2', 'written host:h', 'ack']);
});

it('a job from before the start is written but not announced to readers', async () => {
  const { feed, message, acts } = feeding(5_001);
  await feed.handle(JOB, message(1));
  expect(acts).toEqual(['announced 0', 'written host:h', 'ack']);
});

it('a job that can not be written is announced once, tried again until the stream gives it up', async () => {
  // A file where the directory should be: no user can write below it.
  writeFileSync(join(cachedir, 'jobs'), '');
  const { feed, message, acts } = feeding();
  await feed.handle(JOB, message(1));
  await feed.handle(JOB, message(2));
  expect(acts).toEqual(['trouble', 'announced 2', 'failed', 'trouble', 'failed']);
  rmSync(join(cachedir, 'jobs'));
  await feed.handle(JOB, message(3));
  expect(acts.slice(-2)).toEqual(['written host:h', 'ack']);
});

it('whoever asks learns whether a job is still to come, written, or can not be', async () => {
  const { feed, message } = feeding();
  expect(await feed.filesOf(JOB.jid)).toBe('awaited');
  writeFileSync(join(cachedir, 'jobs'), '');
  await feed.handle(JOB, message(1));
  expect(await feed.filesOf(JOB.jid)).toBe('failed');
  rmSync(join(cachedir, 'jobs'));
  await feed.handle(JOB, message(2));
  expect(await feed.filesOf(JOB.jid)).toBe('written');
});

it('a job is announced without files where local tools look for jobs elsewhere', async () => {
  const acts: string[] = [];
  const readers = new Readers([], 1_000);
  const feed = new JobFeed({
    files: undefined,
    readers,
    announceSinceMs: 0,
    writer: 'host:h',
    announced: () => acts.push('announced'),
    onTrouble: () => acts.push('trouble'),
  });
  const written = (by: string): unknown => acts.push(by);
  const rest = { timeUs: 1, deliveries: 1, ack: () => acts.push('ack'), failed: () => undefined };
  await feed.handle(JOB, { ...rest, written });
  expect(acts).toEqual(['announced', 'host:h', 'ack']);
  expect(readdirSync(cachedir)).toEqual([]);
});
