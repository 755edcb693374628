import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { headerText } from '../connection/headers.ts';
import { streamInfo } from '../connection/js-api.ts';
import type { StreamName } from '../subjects/names.ts';
import type { Received } from './stream-reader.ts';

const TIMEOUT_MS = 3_000;

/**
 * Reads one stored message by its sequence; undefined where there is none (any more).
 * @throws BusError as `Inbox.request` does.
 */
export async function readStored(
  bus: Bus,
  stream: StreamName,
  seq: number,
): Promise<Received | undefined> {
  const info = await streamInfo(bus, stream);
  if (info === undefined) return undefined;
  const msg = await bus.inbox.request(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq }), {
    timeoutMs: TIMEOUT_MS,
  });
  const code = msg.headers?.code ?? 0;
  if (code === 404) return undefined;
  if (code !== 0) throw new BusError('BUS_REFUSED', `message ${seq} of ${stream}: ${code}`);
  return {
    subject: msg.headers?.get('Nats-Subject') ?? '',
    data: msg.data,
    failed: () => undefined,
    headers: () => headerText(msg),
    header: (name) => msg.headers?.get(name) ?? '',
    settle: () => undefined,
    seq,
    consumerSeq: 0,
    timeUs: microseconds(msg.headers?.get('Nats-Time-Stamp') ?? ''),
    pending: 0,
    deliveries: 1,
    incarnation: info.incarnation,
  };
}

/** Microseconds since 1970 of an RFC 3339 time; a Date alone would cut it to milliseconds. */
export function microseconds(time: string): number {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  const wholeMs = Date.parse(time.replace(/\.\d+/, ''));
  return wholeMs * 1_000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}
