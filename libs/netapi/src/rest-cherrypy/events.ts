import { pythonJson } from '@brine/client';
import { type HttpReply, type HttpRequest, whenClosed } from '@brine/http';
import { sleepUnless } from '@brine/tasks';
import { mapOf } from '@brine/wire';
import { NetapiError } from '../errors.ts';
import type { Followed, Followers, FollowerSink, WriteFrame } from '../live/followers.ts';
import { type Principals, sightOf } from '../live/sight.ts';
import type { ApiCaller, Callers } from '../sessions/callers.ts';
import { addressOf, type Asked, tokenOf } from './asked.ts';

/** What followers of events need. */
export interface EventParts {
  readonly followers: Followers;
  readonly callers: Callers;
  readonly principals: Principals;
  /** Begins to read events, if nothing does yet. */
  readonly begin: () => Promise<void>;
}

const NO_QUERY =
  'The /events endpoint takes no query parameters; in particular, tokens must not be passed via ' +
  'the query string -- they end up in access logs and the Referer header. Use the ' +
  "'X-Auth-Token' header (for non-browser clients) or the session cookie set by /login (for " +
  'browser EventSource clients) instead.';

const STREAM_TYPE = 'text/event-stream;charset=utf-8';

/**
 * How often the token of an open stream is looked up, ms. With the time for which the answer is
 * shared, a right taken away ends within 30 s.
 */
const CHECK_MS = 22_000;

/** A frame of `/events`; scripts read it line by line. */
export const eventFrame: WriteFrame = ({ tag, data }) => {
  // A tag of a minion may have any sign.
  const line = tag.replace(/[\r\n]+/g, ' ');
  return `tag: ${line}\ndata: ${pythonJson(mapOf({ data, tag }), false)}\n\n`;
};

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
  reply.hijack();
  const { raw } = reply;
  raw.on('error', () => gone.abort());
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': STREAM_TYPE,
    'cache-control': 'no-cache',
    ...(request.raw.httpVersionMajor === 1 ? { connection: 'keep-alive' } : {}),
  });
  if (gone.signal.aborted) {
    raw.end();
    return;
  }
  raw.write('retry: 400\n');
  const followed = parts.followers.add(
    sinkOf(raw, gone.signal),
    sightOf(caller.reader, parts.principals),
    'sse',
    eventFrame,
  );
  void untilOver(parts, { caller, followed, peer: addressOf(request), gone: gone.signal }).then(
    () => raw.end(),
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
  { callers, principals }: Pick<EventParts, 'callers' | 'principals'>,
  { caller: { token, expire }, followed, peer, gone }: OpenStream,
): Promise<void> {
  for (;;) {
    const leftMs = Math.max(0, expire * 1_000 - Date.now());
    if (!(await sleepUnless(Math.min(CHECK_MS, leftMs + 1), gone))) break;
    if (Date.now() >= expire * 1_000) break;
    try {
      const now = await callers.again(token, peer);
      if (now === undefined) break;
      followed.look(sightOf(now.reader, principals));
    } catch {
      // No worker answers just now; whether the token is valid shows the next time.
    }
  }
  followed.remove();
}

function sinkOf(raw: HttpReply['raw'], gone: AbortSignal): FollowerSink {
  return {
    get unsentBytes() {
      return gone.aborted ? 0 : raw.writableLength;
    },
    write: (frames) => void (gone.aborted || raw.write(frames)),
    end: (last) => {
      if (last !== undefined) raw.write(last);
      raw.end();
      // What the peer does not take within this time is lost.
      setTimeout(() => raw.destroy(), 5_000).unref();
    },
  };
}
