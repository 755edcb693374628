import { isRecord } from '@brine/bus';
import type { KeyState } from '@brine/job';

/** The keys of a minion. */
export interface KeyRecord {
  /** Undefined: none was kept, or it was deleted. */
  readonly state: Exclude<KeyState, 'deleted'> | undefined;
  /** In PEM; of a pending key as a stranger sent it. */
  readonly pub: string;
  /** Other keys of this id that were refused. */
  readonly denied: readonly string[];
  /** When the record was changed, unix seconds. */
  readonly at: number | undefined;
}

const STATES: ReadonlySet<unknown> = new Set<KeyState>(['accepted', 'pending', 'rejected']);
/** The last time that has a date, unix ms. */
const TIME_MAX = 8.64e15;

/** Reads a record of `brine_keys`; undefined for one that can not be read. */
export function keyRecord(value: Uint8Array): KeyRecord | undefined {
  const record = parsed(value);
  if (!isRecord(record)) return undefined;
  const { state, pub, denied, at } = record;
  if (typeof pub !== 'string') return undefined;
  return {
    state: STATES.has(state) ? (state as KeyRecord['state']) : undefined,
    pub,
    denied: Array.isArray(denied) ? denied.filter((one) => typeof one === 'string') : [],
    at: typeof at === 'number' && at > 0 && at < TIME_MAX ? at / 1_000 : undefined,
  };
}

function parsed(value: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(value).toString());
  } catch {
    return undefined;
  }
}
