import type { EventShown } from '@brine/api';

const BYTES = new Intl.NumberFormat('en', { style: 'unit', unit: 'byte', unitDisplay: 'long' });

/** The begin of an event's body, as JSON in one line. */
export function eventSummary({ data, size }: EventShown, max: number): string {
  if (size !== undefined) return `${BYTES.format(size)}: open it`;
  return JSON.stringify(bodyOf(data) ?? null).slice(0, max);
}

/** What a minion returned, where that is the body; else all of the body. */
function bodyOf(data: unknown): unknown {
  return isRecord(data) && 'return' in data ? data['return'] : data;
}

/** How a return ended; undefined for an event that is no return, or does not state it. */
export function returnedAs({ kind, data }: EventShown): 'returned' | 'failed' | undefined {
  if (kind !== 'ret' || !isRecord(data)) return undefined;
  const { retcode, success } = data;
  const isFailed = success === false || (typeof retcode === 'number' && retcode !== 0);
  return isFailed ? 'failed' : 'returned';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
