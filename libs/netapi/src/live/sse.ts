import type { HttpReply, HttpRequest } from '@brine/http';
import type { FollowerSink } from './followers.ts';

export const STREAM_TYPE = 'text/event-stream;charset=utf-8';

/** What the peer does not take within this after the end is lost, ms. */
const LINGER_MS = 5_000;

/** A stream of server-sent events that has begun. */
export interface SseStream {
  readonly sink: FollowerSink;
  /** Aborted when the peer is gone. */
  readonly gone: AbortSignal;
}

/** Sends the headers of a stream; the reply is then written by its sink. */
export function beginSse(
  request: HttpRequest,
  reply: HttpReply,
  gone: AbortController,
  first: string,
): SseStream {
  reply.hijack();
  const { raw } = reply;
  raw.on('error', () => gone.abort());
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': STREAM_TYPE,
    ...(request.raw.httpVersionMajor === 1 ? { connection: 'keep-alive' } : {}),
  });
  if (gone.signal.aborted) raw.end();
  else raw.write(first);
  return { sink: sinkOf(raw, gone.signal), gone: gone.signal };
}

function sinkOf(raw: HttpReply['raw'], gone: AbortSignal): FollowerSink {
  return {
    get unsentBytes() {
      return gone.aborted ? 0 : raw.writableLength;
    },
    write: ({ bytes }) => void (gone.aborted || raw.write(bytes)),
    end: (last) => {
      if (last !== undefined && !gone.aborted) raw.write(last);
      raw.end();
      setTimeout(() => raw.destroy(), LINGER_MS).unref();
    },
  };
}
