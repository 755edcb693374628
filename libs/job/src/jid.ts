declare const jidBrand: unique symbol;

/**
 * A job id: `YYYYMMDDHHMMSSffffff` in UTC, optionally followed by `_` and a mark of its maker
 * (Salt writes the process id there when `unique_jid` is set).
 */
export type Jid = string & { readonly [jidBrand]: true };

// Salt takes any text after the underscore. Job ids become file names and subjects, so here only
// plain characters and a bounded length pass (CVE-2024-22231, CVE-2025-22242).
const JID = /^\d{20}(?:_[A-Za-z0-9_-]{1,64})?$/;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** True for text that can be a job id (Salt: salt/utils/jid.py is_jid, with a plain suffix). */
export function isJid(value: unknown): value is Jid {
  return typeof value === 'string' && JID.test(value);
}

/**
 * Makes job ids that only grow, even if the clock goes back. A process has one maker; ids of
 * several makers differ by their microseconds.
 */
export class JidMaker {
  #lastUs = 0;

  /**
   * The job id of this moment, at least one microsecond after the one before.
   * @param nowMs unix time in milliseconds; a fraction is used down to the microsecond.
   * @throws RangeError where the time lies outside the years 1970 to 9999.
   */
  next(nowMs: number): Jid {
    const us = Math.max(Math.floor(nowMs * 1000), this.#lastUs + 1);
    const jid = jidOfMicroseconds(us);
    this.#lastUs = us;
    return jid;
  }
}

function jidOfMicroseconds(us: number): Jid {
  const ms = Math.floor(us / 1000);
  const date = new Date(ms);
  const year = date.getUTCFullYear();
  if (!(ms >= 0 && year <= 9999)) throw new RangeError(`no job id for the time ${ms} ms`);
  const text = date.toISOString().replace(/[-:T.Z]/g, '') + pad(us - ms * 1000, 3);
  if (!isJid(text)) throw new RangeError(`no job id for the time ${ms} ms`);
  return text;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

/** The moment in a job id in unix milliseconds, with the microseconds as a fraction. */
export function jidTimeMs(jid: Jid): number {
  const part = (from: number, to: number): number => Number(jid.slice(from, to));
  const seconds = Date.UTC(
    part(0, 4),
    part(4, 6) - 1,
    part(6, 8),
    part(8, 10),
    part(10, 12),
    part(12, 14),
  );
  return seconds + part(14, 20) / 1000;
}

/**
 * The start time as Salt prints it: `2026, Nov 20 17:10:37.123456` (Salt: salt/utils/jid.py
 * jid_to_time). Empty for digits that are no date, as in Salt.
 */
export function jidStartTime(jid: Jid): string {
  const month = MONTHS[Number(jid.slice(4, 6)) - 1];
  if (month === undefined) return '';
  const clock = `${jid.slice(8, 10)}:${jid.slice(10, 12)}:${jid.slice(12, 14)}`;
  return `${jid.slice(0, 4)}, ${month} ${jid.slice(6, 8)} ${clock}.${jid.slice(14, 20)}`;
}
