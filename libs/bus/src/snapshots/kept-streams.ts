import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo } from '../connection/js-api.ts';
import { BUCKETS, STREAMS, subjects } from '../subjects/names.ts';

/**
 * The streams of a backup, in their order. Events come before their large bodies, which are stored
 * first, so each event has its body. Bodies of requests expire within minutes and are left out.
 */
export const KEPT_STREAMS: readonly string[] = [
  STREAMS.events,
  STREAMS.publications,
  STREAMS.reactions,
  STREAMS.due,
  STREAMS.keptBodies,
  ...BUCKETS.map((bucket) => `KV_${bucket}`),
];

/** Streams with positions that are also kept elsewhere, and the root of their subjects. */
export const PLACED_STREAMS: Readonly<Record<string, string>> = {
  [STREAMS.events]: 'brine.events',
  [STREAMS.publications]: 'brine.publications',
};

/** Their messages are removed one by one, as each is done. */
const QUEUES: readonly string[] = [STREAMS.reactions, STREAMS.due];

/** True if a stream of the list has the values of a bucket. */
export function isBucketStream(stream: string): boolean {
  return stream.startsWith('KV_');
}

/**
 * True if messages of the stream are removed one by one: it is copied value by value. Other streams
 * only lose their oldest messages, by the server's purge, which does not disturb a snapshot.
 */
export function isCopiedByValue(stream: string): boolean {
  return isBucketStream(stream) || QUEUES.includes(stream);
}

/**
 * `untouched`: it never had a message.
 * @throws BusError as `Inbox.request` does
 */
export async function stateOfStream(
  bus: Bus,
  stream: string,
): Promise<'absent' | 'untouched' | 'used'> {
  const info = await streamInfo(bus, stream);
  if (info === undefined) return 'absent';
  return info.lastSeq === 0 ? 'untouched' : 'used';
}

/** The last sequence of each stream of {@link PLACED_STREAMS}; 0 if there is no such stream. */
export async function lastSequences(bus: Bus): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const stream of Object.keys(PLACED_STREAMS)) {
    found[stream] = (await streamInfo(bus, stream))?.lastSeq ?? 0;
  }
  return found;
}

const LISTEN_MS = 1_000;

/**
 * True if workers of a master are connected to this NATS, on any host.
 * @throws BusError as `Inbox.request` does
 */
export async function areWorkersThere(bus: Bus): Promise<boolean> {
  try {
    await bus.inbox.request(subjects.hello, '', { timeoutMs: LISTEN_MS });
    return true;
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    if (error.code === 'BUS_NO_ANSWER') return false;
    // Workers receive it and answer to another service.
    if (error.code === 'BUS_TIMEOUT') return true;
    throw error;
  }
}
