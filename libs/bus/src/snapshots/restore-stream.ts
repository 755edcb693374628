import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { publish } from '../connection/inbox.ts';
import {
  askJetStream,
  isFull,
  JS_ERRORS,
  readAnswer,
  streamInfo,
  textIn,
} from '../connection/js-api.ts';
import type { StreamSnapshot } from './take-snapshot.ts';

const BEGIN_MS = 60_000;
const CHUNK_MS = 60_000;
/** The server reads all blocks of a stream before it answers. */
const END_MS = 30 * 60_000;

/**
 * Restores a stream from its snapshot. A restore that breaks off leaves nothing: the server makes
 * the stream when it has all of it.
 * @param replicas copies that the stream has from now on
 * @throws BusError `BUS_REFUSED`, also if there is such a stream; `BUS_STREAM_FULL` if the server
 *   has no room; `BUS_STREAM_AWAY`, and as `Inbox.request` does.
 */
export async function restoreStream(
  bus: Bus,
  snapshot: Pick<StreamSnapshot, 'config' | 'state' | 'chunks'>,
  replicas: number,
): Promise<void> {
  const name = textIn(snapshot.config, 'name');
  // The owner of the streams sets their room for this host when it starts.
  const config = { ...snapshot.config, num_replicas: replicas, max_bytes: -1 };
  const request = { config, state: snapshot.state };
  const begun = await askJetStream(bus, `STREAM.RESTORE.${name}`, request, BEGIN_MS);
  if (!begun.ok) throw refused(name, begun);
  const subject = textIn(begun.value, 'deliver_subject');
  if (subject === '') throw new BusError('BUS_BAD_MESSAGE', `no place for the chunks of ${name}`);
  const { reconnects } = bus;
  const send = async (chunk: Uint8Array, timeoutMs: number): Promise<Uint8Array> => {
    const { data } = await bus.inbox.request(subject, chunk, { timeoutMs });
    // A chunk may have come twice, or not at all. Without an end the server drops what it has.
    if (bus.reconnects === reconnects) return data;
    throw new BusError('BUS_STREAM_AWAY', `the connection was lost while ${name} was restored`);
  };
  for await (const chunk of snapshot.chunks) {
    if (chunk.length === 0) continue;
    const data = await send(chunk, CHUNK_MS);
    if (data.length === 0) continue;
    const answer = readAnswer(data);
    if (!answer.ok) throw refused(name, answer);
  }
  const ended = readAnswer(await send(new Uint8Array(), END_MS));
  if (!ended.ok) throw refused(name, ended);
}

/** The last token of messages that only use up sequences. */
const FILLER = 'restored';
/** Messages sent without an answer, before the progress of the stream is checked. */
const FILL_AT_ONCE = 10_000;
/** More messages than any stream receives during a backup. */
const FILL_MAX = 50_000_000;
/** A stream that stores nothing for this long accepts no more. */
const FILL_MS = 3_000;
const FILL_LOOK_MS = 20;

/**
 * Uses up sequences of a stream up to `seq`. Positions are also kept elsewhere, so no new message
 * may get the sequence of a message that is not in the backup. The stream's content stays as it is.
 * @param root the stream's subjects without the last token, as `brine.events`
 * @throws BusError `BUS_STREAM_FULL` if the stream accepts no more; `BUS_REFUSED`
 */
export async function useSequences(
  bus: Bus,
  stream: string,
  root: string,
  seq: number,
): Promise<void> {
  const subject = `${root}.${FILLER}`;
  let last = await lastSeqOf(bus, stream);
  if (last >= seq) return;
  if (seq - last > FILL_MAX) {
    throw new BusError('BUS_REFUSED', `${stream} ends at ${last}, and ${seq} was in use`);
  }
  while (last < seq) {
    const count = Math.min(FILL_AT_ONCE, seq - last);
    for (let sent = 0; sent < count; sent += 1) publish(bus.connection, subject, '');
    await bus.flush();
    const next = await storedAll(bus, stream, last + count);
    if (next === last) {
      throw new BusError('BUS_STREAM_FULL', `${stream} takes no more messages: make room`);
    }
    last = next;
  }
  const purged = await askJetStream(bus, `STREAM.PURGE.${stream}`, { filter: subject }, CHUNK_MS);
  if (!purged.ok) {
    throw new BusError('BUS_REFUSED', `${stream} keeps its filler messages: ${purged.text}`);
  }
}

/** Polls until a stream has stored all sent messages: it answers a flush before that. */
async function storedAll(bus: Bus, stream: string, wanted: number): Promise<number> {
  let last = await lastSeqOf(bus, stream);
  for (let until = performance.now() + FILL_MS; last < wanted && performance.now() < until;) {
    await sleep(FILL_LOOK_MS);
    const next = await lastSeqOf(bus, stream);
    if (next > last) until = performance.now() + FILL_MS;
    last = next;
  }
  return last;
}

async function lastSeqOf(bus: Bus, stream: string): Promise<number> {
  const info = await streamInfo(bus, stream);
  if (info === undefined) throw new BusError('BUS_STREAM_AWAY', `${stream} is not there`);
  return info.lastSeq;
}

/**
 * Deletes a stream with its content, if it exists.
 * @throws BusError `BUS_REFUSED`, and as `Inbox.request` does.
 */
export async function deleteStream(bus: Bus, stream: string): Promise<void> {
  const answer = await askJetStream(bus, `STREAM.DELETE.${stream}`, undefined, CHUNK_MS);
  if (answer.ok || answer.number === JS_ERRORS.streamNotFound) return;
  throw new BusError('BUS_REFUSED', `${stream} was not deleted: ${answer.text}`);
}

function refused(
  name: string,
  { number, text }: { readonly number: number; readonly text: string },
): BusError {
  const code = isFull(number) ? 'BUS_STREAM_FULL' : 'BUS_REFUSED';
  return new BusError(code, `${name} was not restored: ${text} (${number})`);
}
