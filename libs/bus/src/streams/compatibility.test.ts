// What each release has written to NATS: today's code reads it, and writes what the release before
// reads. BRINE_RECORD_MESSAGES=<release> writes the file of a release that is about to be made.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { unpack } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import {
  AGAIN,
  ANNOUNCEMENT,
  COMMITTED,
  EVENTS,
  JOB,
  PAGED,
  QUESTION,
  type RecordedMessage,
  REQUEST,
  SENT,
  writtenMessages,
} from '../../test/message-samples.ts';
import type { Bus } from '../connection/connect.ts';
import { isNewer, MESSAGE_VERSION, NEWEST_READ } from '../connection/message-version.ts';
import { readRuns, runsOf } from '../events/commit-notice.ts';
import { readEvents } from '../events/event-reader.ts';
import { readPublished } from '../jobs/publication.ts';
import { readSent } from '../jobs/send-notice.ts';
import { unbundle } from '../rpc/bundle.ts';
import { isNewerRequest, readMessage, unpackRequest } from '../rpc/request-frame.ts';
import { readAnnouncement } from '../rpc/worker-board.ts';
import type { Received } from './stream-reader.ts';

const DIR = new URL('../../test/recorded/', import.meta.url);
const record = process.env['BRINE_RECORD_MESSAGES'];
if (record !== undefined) {
  const text = `${JSON.stringify(await writtenMessages(), null, 2)}\n`;
  writeFileSync(new URL(`${record}.json`, DIR), text);
}
const RELEASES = readdirSync(DIR)
  .map((name) => name.replace(/\.json$/, ''))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
const LAST = RELEASES.at(-1) ?? '';
/** What no release has written yet; the last one reads it. */
const NEW_KINDS = ['page of returns'];
const BUS = {} as Bus;

function recorded(release: string): Record<string, RecordedMessage> {
  const text = readFileSync(new URL(`${release}.json`, DIR), 'utf8');
  return JSON.parse(text) as Record<string, RecordedMessage>;
}

function received({ subject, headers, data }: RecordedMessage, settled: string[] = []): Received {
  return {
    subject,
    data: Buffer.from(data, 'base64'),
    header: (name) => {
      const line = headers.find((one) => one.startsWith(`${name}:`));
      return line === undefined ? '' : line.slice(name.length + 1).trim();
    },
    headers: () => headers.join('\r\n'),
    settle: (how) => void settled.push(how),
    failed: () => undefined,
    seq: 1,
    consumerSeq: 1,
    timeUs: 1_795_384_800_000_000,
    pending: 0,
    deliveries: 1,
    incarnation: 'one',
    followsOn: true,
  };
}

test('a release was recorded, whole', async () => {
  expect(RELEASES.length).toBeGreaterThan(0);
  const kinds = Object.keys(await writtenMessages());
  const known = kinds.filter((kind) => !NEW_KINDS.includes(kind));
  expect(Object.keys(recorded(LAST))).toEqual(known);
});

describe.each(RELEASES)('what %s wrote', (release) => {
  const messages = recorded(release);
  const of = (name: string): RecordedMessage => {
    const message = messages[name];
    if (message === undefined) throw new Error(`${release} has no ${name}`);
    return message;
  };
  const bytes = (name: string): Buffer => Buffer.from(of(name).data, 'base64');

  test.each(Object.entries(EVENTS))('%s is read', (name, event) => {
    const [read, ...more] = readEvents(BUS, received(of(name)), true);
    expect(more).toEqual([]);
    const { kind, tag, jid, minion, body } = event;
    expect(read).toMatchObject({ kind, tag, jid, minion });
    expect(read?.traced).toBe('traced' in event);
    expect(read?.link).toBe('link' in event ? event.link : undefined);
    expect(Buffer.from(read?.body ?? [])).toEqual(body);
  });

  test('jobs, jobs again and markers are read', async () => {
    const read = async (name: string) => readPublished(BUS, received(of(name)));
    const job = await read('job');
    if (job?.kind !== 'job') throw new Error('no job');
    const { publication, load, ...rest } = job.job;
    const { publication: _, load: __, ...expected } = JOB;
    expect(rest).toEqual(expected);
    expect([publication, load].map((one) => Buffer.from(one))).toEqual([JOB.publication, JOB.load]);
    expect(await read('job again')).toMatchObject({ kind: 'again', again: AGAIN });
    expect(await read('marker')).toMatchObject({ kind: 'marker', marker: { epoch: 7 } });
  });

  test('requests and words about them are read', () => {
    const [item, ...more] = unbundle(bytes('bundle of a request')) ?? [];
    expect(more).toEqual([]);
    expect(item?.slot).toBe('s1');
    const request = unpackRequest(item?.bytes ?? Buffer.alloc(0));
    expect(request?.head).toEqual(REQUEST);
    expect(request?.body.toString()).toBe('sealed');
    expect(readMessage(bytes('answer'))).toMatchObject({ kind: 'reply', trace: 'traced' });
    expect(readMessage(bytes('answer elsewhere'))).toMatchObject({ reference: 'ref-2' });
    expect(readMessage(bytes('word: refused'))).toEqual({ kind: 'refuse' });
    expect(readMessage(bytes('word: may I'))).toEqual({ kind: 'ask-grant' });
    expect(readMessage(bytes('word: none'))).toEqual({ kind: 'drop' });
  });

  test('announcements of services, and questions, are read', () => {
    expect(readAnnouncement(bytes('announcement'))).toMatchObject(ANNOUNCEMENT);
    expect(readSent(bytes('sent'))).toEqual(SENT);
    expect(readRuns(bytes('committed'))).toEqual(runsOf(COMMITTED));
    expect(of('question').subject).toBe('brine.jobs.get');
    expect(unpack(bytes('question').subarray(1))).toEqual(QUESTION);
  });
});

test(`what is written today is what ${LAST} wrote: it runs beside us`, async () => {
  const written = await writtenMessages();
  for (const kind of NEW_KINDS) delete written[kind];
  expect(written).toEqual(recorded(LAST));
});

test('a page of returns is read as it is written', async () => {
  const { 'page of returns': page } = await writtenMessages();
  if (page === undefined) throw new Error('no page');
  expect(isNewer(received(page).header)).toBe(false);
  const read = readEvents(BUS, received(page), true);
  expect(read).toMatchObject(
    PAGED.map(({ tag, jid, minion, link, traced }) => ({ tag, jid, minion, link, traced })),
  );
  expect(read.map(({ body }) => Buffer.from(body ?? []))).toEqual(PAGED.map(({ body }) => body));
});

describe('a message that only a newer release reads', () => {
  const newer = `Brine-Version: ${NEWEST_READ + 1}`;

  test('differs from one without a version, and from one with a known version', async () => {
    const { job } = await writtenMessages();
    if (job === undefined) throw new Error('no job');
    expect(isNewer(received(job).header)).toBe(false);
    expect(isNewer(received({ ...job, headers: [] }).header)).toBe(false);
    expect(isNewer(received({ ...job, headers: [newer] }).header)).toBe(true);
    expect(isNewer(received({ ...job, headers: ['Brine-Version: x'] }).header)).toBe(true);
    expect(isNewerRequest({ ...REQUEST, version: MESSAGE_VERSION })).toBe(false);
    expect(isNewerRequest({ ...REQUEST, version: MESSAGE_VERSION + 1 })).toBe(true);
  });
});
