import { pythonJson } from '@brine/client';
import type { HttpRequest, HttpSocket } from '@brine/http';
import { mapOf } from '@brine/wire';
import { formattedEvents } from '../live/formatted-events.ts';
import { eventByEvent, type WriteFrame } from '../live/frames.ts';
import type { ApiCaller } from '../sessions/callers.ts';
import { addressOf } from './asked.ts';
import { type EventParts, untilOver } from './events.ts';

/** What a client sends to begin, and the answer to each of its messages (Salt: websockets.py). */
const READY = 'websocket client ready';
const RECEIVED = 'server received message';

/** A client sends that it is ready at once; one that never does has no use of its connection. */
const READY_MS = 30_000;

/** A peer that sends and does not read is disconnected with this much unsent. */
const UNREAD_MAX_BYTES = 1024 * 1024;

/** An event as a message; it looks like a server-sent event. */
const messageOf: WriteFrame = ({ tag, data }) =>
  `data: ${pythonJson(mapOf({ tag, data }), false)}\n\n`;

const PLAIN = eventByEvent('ws', () => messageOf);
const FORMATTED = eventByEvent('ws formatted', formattedEvents);

/** `GET /ws` with an upgrade: events as messages, once the client has sent that it is ready. */
export function serveSocket(
  socket: HttpSocket,
  request: HttpRequest,
  caller: ApiCaller,
  parts: EventParts,
): void {
  const gone = new AbortController();
  socket.on('close', () => gone.abort());
  socket.on('error', () => gone.abort());
  const isFormatted = 'format_events' in (request.query as object);
  let isFollowing = false;
  const late = setTimeout(() => socket.close(1008), READY_MS);
  gone.signal.addEventListener('abort', () => clearTimeout(late));
  socket.on('message', (message: unknown) => {
    if (String(message) === READY && !isFollowing) {
      isFollowing = true;
      clearTimeout(late);
      const followed = parts.followers.add(
        {
          get unsentBytes() {
            return socket.bufferedAmount;
          },
          // One message an event, as a stock salt-api sends them.
          write: ({ text }) => {
            for (const frame of text.split('\n\n')) if (frame !== '') socket.send(`${frame}\n\n`);
          },
          end: (last) => {
            if (last !== undefined) socket.send(last);
            socket.close(1013);
            setTimeout(() => socket.terminate(), 5_000).unref();
          },
        },
        parts.sight(caller, addressOf(request)),
        isFormatted ? FORMATTED : PLAIN,
      );
      const stream = { caller, followed, peer: addressOf(request), gone: gone.signal };
      void untilOver(parts, stream).then(() => socket.close());
    }
    if (socket.bufferedAmount > UNREAD_MAX_BYTES) socket.terminate();
    else socket.send(RECEIVED);
  });
}
