import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { streamInfo } from '../connection/js-api.ts';
import { StreamReader } from '../streams/stream-reader.ts';
import type { PublicationKind } from '../subjects/names.ts';
import { isPublicationKind, STREAMS } from '../subjects/names.ts';

/** When one message of PUBLICATIONS was stored. */
export interface PublicationTime {
  readonly seq: number;
  readonly kind: PublicationKind;
  /** In microseconds since 1970. */
  readonly timeUs: number;
}

/** The last messages of PUBLICATIONS, without what is in them. */
export interface PublicationTimes {
  /** In stream order; every message from the first one here up to `lastSeq`. */
  readonly times: readonly PublicationTime[];
  /** Of the stream when it was looked at; 0 when nothing was ever stored. */
  readonly lastSeq: number;
}

/** Messages looked back over at most; who needs more would read for minutes. */
const MAX_LOOK_BACK = 100_000;
const READ_TIMEOUT_MS = 30_000;

/**
 * Reads when the last messages were stored: at least `count` of them, and all since `sinceMs`.
 * @throws BusError `BUS_STREAM_AWAY` where there is no stream, `BUS_TIMEOUT`, `BUS_CLOSED`.
 */
export async function readPublicationTimes(
  bus: Bus,
  want: { readonly count: number; readonly sinceMs: number },
): Promise<PublicationTimes> {
  const info = await streamInfo(bus, STREAMS.publications);
  if (info === undefined) throw new BusError('BUS_STREAM_AWAY', 'no stream of publications');
  const { firstSeq, lastSeq } = info;
  if (info.messages === 0) return { times: [], lastSeq };
  for (let count = want.count; ; count *= 4) {
    const from = Math.max(firstSeq, lastSeq - count + 1);
    const times = await readTimes(bus, from, lastSeq);
    const reaches = (times[0]?.timeUs ?? 0) < want.sinceMs * 1_000;
    if (reaches || from === firstSeq || count >= MAX_LOOK_BACK) return { times, lastSeq };
  }
}

async function readTimes(bus: Bus, from: number, lastSeq: number): Promise<PublicationTime[]> {
  const reader = new StreamReader(bus, {
    stream: STREAMS.publications,
    from: { seq: from },
    headersOnly: true,
  });
  const timer = setTimeout(() => reader.close(), READ_TIMEOUT_MS);
  const times: PublicationTime[] = [];
  try {
    for (;;) {
      const batch = await reader.take(1_000);
      if (batch.length === 0)
        throw new BusError('BUS_TIMEOUT', 'publications were not read in time');
      for (const { seq, subject, timeUs, pending } of batch) {
        const kind = subject.split('.')[2] ?? '';
        if (isPublicationKind(kind)) times.push({ seq, kind, timeUs });
        if (seq >= lastSeq || pending === 0) return times;
      }
    }
  } finally {
    clearTimeout(timer);
    reader.close();
  }
}
