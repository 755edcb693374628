import type { PageFrom } from '@brine/master';
import type { SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { timeOf } from '../jobs/jobs.ts';

/** The accepted values, for the documentation of a function. */
export const FROM_WORDS =
  'a time, an age (30s, 15m, 1h, 2d), a position or a number of an event, oldest, or now';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 3_600_000, d: 86_400_000 };

/** The form of a position (libs/bus position.ts). */
const POSITION = /^[0-9.]+-[0-9.]+_[0-9a-f]{8}$/;

/** Number of digits of a job id; the first ones are its time. */
const JID_DIGITS = 20;

/**
 * Reads a person's start of reading.
 * @throws Error with a text for the caller
 */
export function fromArgument(name: string, value: SaltValue, nowMs: number): PageFrom {
  const text = pyStr(value).trim();
  if (text === 'now' || text === 'oldest') return text;
  if (POSITION.test(text)) return { position: text };
  // Dates of digits alone contain a time of day; a shorter number is that of an event.
  if (/^\d{1,10}$/.test(text)) return { seq: Number(text) };
  const timeMs = timeArgument(text, nowMs);
  if (timeMs === undefined) throw new Error(`${name} is neither ${FROM_WORDS}: ${text}`);
  return { timeMs };
}

/**
 * A time or an age, in unix ms; undefined for None.
 * @throws Error with a text for the caller
 */
export function toArgument(name: string, value: SaltValue, nowMs: number): number | undefined {
  if (value === null) return undefined;
  const timeMs = timeArgument(pyStr(value).trim(), nowMs);
  if (timeMs === undefined) throw new Error(`${name} is no time: ${pyStr(value)}`);
  return timeMs;
}

function timeArgument(text: string, nowMs: number): number | undefined {
  if (text === 'now') return nowMs;
  const age = /^(\d+(?:\.\d+)?) ?([smhd])$/.exec(text);
  const unitMs = UNITS_MS[age?.[2] ?? ''];
  if (age !== null && unitMs !== undefined) return nowMs - Number(age[1]) * unitMs;
  if (/^\d+$/.test(text) && text.length === JID_DIGITS) return timeOf(text.slice(0, 14));
  return timeOf(text);
}
