import { randomBytes } from 'node:crypto';
import type { Bus } from '../connection/connect.ts';
import { asError, BusError } from '../connection/errors.ts';
import { publish } from '../connection/inbox.ts';
import { isRecord } from '../connection/js-api.ts';
import { subjects } from '../subjects/names.ts';
import { REPORT_MAX_BYTES } from './roll-answer.ts';

/**
 * When a call is over, in ms: `quietMs` after the last answer, since a busy process answers late,
 * and after `mostMs` in any case. Once all known services have answered, it waits `knownMs` for new
 * ones.
 */
const TIMES = { quietMs: 1_000, knownMs: 150, mostMs: 3_000 };
/** Services of one call, and bytes of all of them. The rest is counted. */
const SERVICES_MAX = 2_000;
const BYTES_MAX = 16 * 1024 * 1024;

/** A service's own report. */
export interface ServiceReport {
  /** By its rights in NATS, so no service can name another. */
  readonly service: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** How far its clock is ahead of the caller's, ms; undefined if it did not send its time. */
  readonly aheadMs: number | undefined;
  /** The clock is known to within this, ms. */
  readonly withinMs: number;
}

/** The result of a call. */
export interface Roll {
  readonly services: readonly ServiceReport[];
  /** Answers that were left out as too many or too long. */
  readonly leftOut: number;
}

/** How long a call waits, and for which services. */
export interface RollOptions extends Partial<typeof TIMES> {
  /** The services of the previous call, by {@link rollKey}. */
  readonly known?: ReadonlySet<string>;
}

/** Which process answered, for the next call. */
export function rollKey({ service, facts }: Pick<ServiceReport, 'service' | 'facts'>): string {
  return JSON.stringify([service, facts['machine'], facts['pid']]);
}

/**
 * Calls the roll: every service of every host reports its state. A service that hangs or is cut off
 * is missing from the result.
 * @throws BusError `BUS_FORBIDDEN` if the rights in NATS are those of an older release
 */
export async function callRoll(bus: Bus, options: RollOptions = {}): Promise<Roll> {
  const { known = new Set<string>(), quietMs, knownMs, mostMs } = { ...TIMES, ...options };
  const missing = new Set(known);
  const call = randomBytes(9).toString('base64url');
  const services: ServiceReport[] = [];
  let leftOut = 0;
  let bytes = 0;
  let sentMs = Date.now();
  let refused: Error | undefined;
  let moved = (): void => undefined;
  const root = subjects.told('');
  const subscription = bus.connection.subscribe(`${root}*`, {
    callback: (error, msg) => {
      if (error !== null && error !== undefined) {
        refused = error;
        return moved();
      }
      const facts = factsOf(msg.data, call);
      if (facts === undefined) return;
      const service = msg.subject.slice(root.length);
      missing.delete(rollKey({ service, facts }));
      bytes += msg.data.length;
      if (services.length >= SERVICES_MAX || bytes > BYTES_MAX) leftOut += 1;
      else services.push({ service, facts, ...clockOf(facts, sentMs) });
      moved();
    },
  });
  try {
    // The server must know of the subscription before it receives the call.
    await bus.flush();
    sentMs = Date.now();
    publish(bus.connection, subjects.roll, call);
    await quiet(mostMs, (answered) => {
      moved = answered;
      return () => {
        if (refused !== undefined) return 0;
        return known.size > 0 && missing.size === 0 ? knownMs : quietMs;
      };
    });
  } finally {
    if (!bus.connection.isClosed()) subscription.unsubscribe();
  }
  if (refused !== undefined) {
    const text = 'NATS does not let services answer roll calls: give it the rights of this release';
    throw new BusError('BUS_FORBIDDEN', text, asError(refused));
  }
  return { services, leftOut };
}

/** Resolves after a silence as long as `follow`'s function returns, or after `mostMs`. */
function quiet(mostMs: number, follow: (answered: () => void) => () => number): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(most);
      clearTimeout(still);
      resolve();
    };
    const waitMs = follow(() => {
      clearTimeout(still);
      still = setTimeout(end, waitMs());
    });
    const most = setTimeout(end, mostMs);
    let still = setTimeout(end, waitMs());
  });
}

function factsOf(data: Uint8Array, call: string): Record<string, unknown> | undefined {
  if (data.length > REPORT_MAX_BYTES * 2) return undefined;
  try {
    const report: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
    if (!isRecord(report) || report['call'] !== call || !isRecord(report['facts']))
      return undefined;
    return report['facts'];
  } catch {
    return undefined; // Not from a service of ours.
  }
}

/** It read its clock somewhere between the call and now. */
function clockOf(
  { nowMs }: Readonly<Record<string, unknown>>,
  sentMs: number,
): Pick<ServiceReport, 'aheadMs' | 'withinMs'> {
  const answeredMs = Date.now();
  const withinMs = Math.max(0, answeredMs - sentMs) / 2;
  if (typeof nowMs !== 'number') return { aheadMs: undefined, withinMs };
  return { aheadMs: Math.round(nowMs - (sentMs + withinMs)), withinMs: Math.ceil(withinMs) };
}
