import { pythonJson } from '@brine/client';
import { type HttpRequest, whenClosed } from '@brine/http';
import { sleepUnless } from '@brine/tasks';
import { mapOf } from '@brine/wire';
import { NetapiError } from '../errors.ts';
import type { Followed, Followers } from '../live/followers.ts';
import { eventByEvent, type WriteFrame } from '../live/frames.ts';
import type { Sight } from '../live/sight.ts';
import { beginSse, STREAM_TYPE } from '../live/sse.ts';
import type { ApiCaller, Callers } from '../sessions/callers.ts';
import { addressOf, type Asked, tokenOf } from './asked.ts';

/** What followers of events need. */
export interface EventParts {
  readonly followers: Followers;
  readonly callers: Callers;
  /** What a caller may see now. */
  readonly sight: (caller: ApiCaller, peer: string) => Sight;
  /** Begins to read events, if nothing does yet. */
  readonly begin: () => Promise<void>;
}

const NO_QUERY =
  'The /events endpoint takes no query parameters; in particular, tokens must not be passed via ' +
  'the query string -- they end up in access logs and the Referer header. Use the ' +
  "'X-Auth-Token' header (for non-browser clients) or the session cookie set by /login (for " +
  'browser EventSource clients) instead.';

/**
 * How often the token of an open stream is looked up, ms. With the time for which the answer is
 * shared, a right taken away ends within 30 s.
 */
const CHECK_MS = 22_000;
/** It is looked up again after this where the master did not answer, and later each time, ms. */
const AGAIN_MS = 1_000;

/** A frame of `/events`; scripts read it line by line. */
export const eventFrame: WriteFrame = ({ tag, data }) => {
  // A tag of a minion may have any sign.
  const line = tag.replace(/[\r\n]+/g, ' ');
  return `tag: ${line}\ndata: ${pythonJson(mapOf({ data, tag }), false)}\n\n`;
};

const EVENT_FORM = eventByEvent('sse', () => eventFrame);

/** `GET /events`: all events as server-sent events (Salt: Events). */
export async function streamEvents(asked: Asked, parts: EventParts): Promise<void> {
  const { request, reply } = asked;
  if (Object.keys(request.query as object).length > 0) throw new NetapiError(400, NO_QUERY);
  const gone = new AbortController();
  whenClosed(reply, () => gone.abort());
  const { caller, leave } = await follow(request, parts);
  whenClosed(reply, leave);
  if (request.method === 'HEAD') {
    // The stream has no end, so its headers are all that there is.
    void reply.type(STREAM_TYPE).header('Cache-Control', 'no-cache');
    return;
  }
  void reply.header('Cache-Control', 'no-cache');
  const { sink } = beginSse(request, reply, gone, 'retry: 400\n');
  if (gone.signal.aborted) return;
  const peer = addressOf(request);
  const followed = parts.followers.add(sink, parts.sight(caller, peer), EVENT_FORM);
  void untilOver(parts, { caller, followed, peer, gone: gone.signal }).then(() =>
    sink.end(undefined),
  );
}

/** A caller that may follow, and how it gives its place back. */
export interface Admitted {
  readonly caller: ApiCaller;
  readonly leave: () => void;
}

/** The caller that may follow, with a place. @throws NetapiError */
export async function follow(request: HttpRequest, parts: EventParts): Promise<Admitted> {
  const caller = await parts.callers.find(tokenOf(request), addressOf(request));
  if (caller === undefined) throw new NetapiError(401, '');
  await parts.begin();
  return { caller, leave: parts.followers.enter(caller.reader.principal) };
}

/** A follower with an open stream. */
export interface OpenStream {
  readonly caller: ApiCaller;
  readonly followed: Followed;
  readonly peer: string;
  readonly gone: AbortSignal;
}

/**
 * Looks after an open stream: a right that was taken away, or given, is in force within 30 s.
 * Resolves when the peer is gone or its token is not valid any more, and the follower removed.
 */
export async function untilOver(
  { callers, sight }: Pick<EventParts, 'callers' | 'sight'>,
  { caller: { token, expire }, followed, peer, gone }: OpenStream,
): Promise<void> {
  let waitMs = CHECK_MS;
  let againMs = AGAIN_MS;
  for (;;) {
    const leftMs = Math.max(0, expire * 1_000 - Date.now());
    if (!(await sleepUnless(Math.min(waitMs, leftMs + 1), gone))) break;
    if (Date.now() >= expire * 1_000) break;
    try {
      const now = await callers.again(token, peer);
      if (now === undefined) break;
      followed.look(sight(now, peer));
      waitMs = CHECK_MS;
      againMs = AGAIN_MS;
    } catch {
      // No worker answers just now, as when all start again with other rights.
      waitMs = againMs;
      againMs = Math.min(2 * againMs, CHECK_MS);
    }
  }
  followed.remove();
}
