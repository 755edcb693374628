import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientPorts, MasterUnreachableError, RefusedError } from '@brine/client';
import { isMap, mapIn, pack, type SaltMap, unpack, WireError } from '@brine/wire';
import { logLine, type Terminal } from '../terminal.ts';
import type { ApiConnection } from './api-connection.ts';
import { ApiRefusedError, ApiUnreachableError } from './api-errors.ts';
import { endedText } from './choose-api.ts';

/** The event in place of those that a slow follower missed. */
const LAG_TAG = 'brine/netapi/dropped';
/** First and longest pause before a stream of events is opened again, ms. */
const REOPEN_MS = 250;
const REOPEN_MAX_MS = 5_000;
/** For a stream of events until the API sends, ms. */
const OPEN_MS = 15_000;

/** Which events a command gets: of its own jobs and runs, or all that it may read. */
export type EventScope = 'own' | 'all';

type OnEvent = (tag: string, packed: Uint8Array) => void;

/** Sends clear loads through the API: the session proves the caller. */
export function requestsByApi(api: ApiConnection, terminal: Terminal): ClientPorts['request'] {
  return {
    request: async (body, { timeoutMs }) => {
      const envelope = unpack(body);
      const load = isMap(envelope) ? mapIn(envelope, 'load') : undefined;
      if (load === undefined) throw new Error('a request without a load');
      try {
        const { json } = await api.ask({
          method: 'POST',
          path: '/commands/requests',
          body: { load: Buffer.from(pack(load)).toString('base64') },
          timeoutMs,
        });
        return replyIn(json);
      } catch (error) {
        throw asClientError(api, error, terminal);
      }
    },
  };
}

function replyIn(json: unknown): Uint8Array {
  const reply = (json as { readonly reply?: unknown } | undefined)?.reply;
  if (typeof reply !== 'string') throw new ApiUnreachableError('the API answered without a reply');
  return Buffer.from(reply, 'base64');
}

/** The error as commands know it from the request port. */
export function asClientError(api: ApiConnection, error: unknown, terminal: Terminal): unknown {
  if (error instanceof ApiUnreachableError) {
    // No answer in time is a timeout, which the client knows.
    if (error.cause instanceof Error && error.cause.name === 'LateError') return error.cause;
    logLine(terminal, 'ERROR', error.message);
    return new MasterUnreachableError();
  }
  if (!(error instanceof ApiRefusedError) || error.status === 503) return error;
  if (error.status === 401) {
    return new RefusedError('TokenAuthenticationError', endedText(api.url));
  }
  const name = error.status === 403 ? 'AuthorizationError' : 'SaltClientError';
  return new RefusedError(name, error.message);
}

/**
 * Follows events through the API, and reconnects, until closed.
 * @throws ApiRefusedError ApiUnreachableError if the first connection fails
 */
export async function eventsByApi(
  api: ApiConnection,
  scope: EventScope,
  onEvent: OnEvent,
  terminal: Terminal,
): Promise<{ close(): void }> {
  const path = scope === 'own' ? '/commands/events?only=own' : '/commands/events';
  const gone = new AbortController();
  let stream: { close(): void } | undefined;
  const onData = (data: string): void => passOn(data, onEvent, terminal);
  const open = async (): Promise<void> => {
    const onEnd = (): void => void reopen();
    stream = await api.follow(path, { timeoutMs: OPEN_MS, onData, onEnd });
    if (gone.signal.aborted) stream.close();
  };
  const reopen = async (): Promise<void> => {
    if (gone.signal.aborted) return;
    logLine(terminal, 'WARNING', `${api.url}: the connection for events was lost; some are missed`);
    for (let pauseMs = REOPEN_MS; ; pauseMs = Math.min(REOPEN_MAX_MS, pauseMs * 2)) {
      await sleep(pauseMs, undefined, { ref: false });
      if (gone.signal.aborted) return;
      try {
        return await open();
      } catch (error) {
        if (!(error instanceof ApiRefusedError) || error.status === 503) continue;
        // The wait for returns has its own timeout.
        logLine(terminal, 'ERROR', error.status === 401 ? endedText(api.url) : error.message);
        return;
      }
    }
  };
  await open();
  return {
    close: () => {
      gone.abort();
      stream?.close();
    },
  };
}

function passOn(data: string, onEvent: OnEvent, terminal: Terminal): void {
  const event = eventIn(data);
  if (event === undefined) {
    logLine(terminal, 'WARNING', 'an event of the API can not be read');
    return;
  }
  const [tag, value] = event;
  if (tag === LAG_TAG) {
    const count = Number(value.get('dropped'));
    const text = `${count} events were missed: this connection is too slow for them`;
    logLine(terminal, 'WARNING', `${text}; see jobs.lookup_jid`);
    return;
  }
  onEvent(tag, pack(value, 'bin'));
}

function eventIn(data: string): readonly [tag: string, data: SaltMap] | undefined {
  try {
    const event = unpack(Buffer.from(data, 'base64'));
    const [tag, value = null] = Array.isArray(event) ? event : [];
    return typeof tag === 'string' && isMap(value) ? [tag, value] : undefined;
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return undefined;
  }
}
