import { IDLE_MS } from '../live/followers.ts';
import type { Missed } from '../live/frames.ts';
import type { Message, RefusedTopic } from './topic.ts';

/** A peer opens an ended stream again after this, ms, and some part of it more. */
const RETRY_MS = 2_000;
const RETRY_JITTER_MS = 1_000;
/** After the end of a process its followers come back spread over this, ms. */
const SPREAD_MS = 5_000;
const SOON_MS = 500;

/** Messages as server-sent events; the last one has the id, if there is a position. */
export function messagesText(messages: readonly Message[], position: string | undefined): string {
  return messages
    .map(({ event, data }, at) => {
      const isLast = at === messages.length - 1;
      const id = isLast && position !== undefined ? `id: ${position}\n` : '';
      return `event: ${event}\n${id}data: ${data}\n\n`;
    })
    .join('');
}

function one(event: string, value: object, position: string): string {
  return messagesText([{ event, data: JSON.stringify(value) }], position);
}

/** The begin of a stream. */
export function helloText(position: string, topics: readonly string[]): string {
  const retry = RETRY_MS + Math.round(Math.random() * RETRY_JITTER_MS);
  const hello = { position, topics, heartbeat: IDLE_MS / 1_000 };
  return `retry: ${retry}\n${one('hello', hello, position)}`;
}

/** Topics that the stream does not have, one message each. */
export function refusedText(refused: readonly RefusedTopic[]): string {
  const messages = refused.map((one) => ({ event: 'refused', data: JSON.stringify(one) }));
  return messagesText(messages, undefined);
}

/** Some events did not come: `dropped` is null if they were not counted. */
export function lagText({ dropped, from, to }: Missed | MissedUncounted): string {
  return one('lag', { dropped, from, to }, to);
}

interface MissedUncounted extends Omit<Missed, 'dropped'> {
  readonly dropped: null;
}

/** The position is not kept any more: all has to be fetched again. */
export function resetText(position: string): string {
  return one('reset', { position }, position);
}

/** A comment, and the position for a peer that gets nothing else. */
export function stillText(position: string): string {
  return `:\nid: ${position}\n\n`;
}

/** The stream ends; each peer comes back at its own time. */
export function byeText(): string {
  const retryMs = SOON_MS + Math.round(Math.random() * SPREAD_MS);
  const data = JSON.stringify({ retryAfter: retryMs / 1_000 });
  return `retry: ${retryMs}\nevent: bye\ndata: ${data}\n\n`;
}
