import { type DateText, timeOn } from './date-text.ts';
import type { Gates, ScheduledJob, TimeRange } from './job.ts';
import { dayOf, daysLater, momentOf, type WallMs, wallOf, type Zone } from './zone.ts';

/** Why a due job does not run: Salt's values of `_skip_reason`. */
export type SkipReason =
  | 'disabled'
  | 'in_skip_range'
  | 'not_in_range'
  | 'after_not_passed'
  | 'until_passed'
  | 'skip_explicit'
  | 'missed';

/** Days to search for the start of a range: texts without a year recur within a year. */
const DAYS_AHEAD = 400;

/** Bounds of a span, read on the day of a time; undefined if they are invalid on that day. */
function spanOn(
  { start, end }: TimeRange,
  wall: WallMs,
): { readonly start: WallMs; readonly end: WallMs } | undefined {
  const from = timeOn(start, dayOf(wall));
  const to = timeOn(end, dayOf(wall));
  if (from === undefined || to === undefined || to <= from) return undefined;
  return { start: from, end: to };
}

/** True if a time is within a span, bounds included; undefined if the span is invalid that day. */
export function isInSpan(span: TimeRange, wall: WallMs): boolean | undefined {
  const found = spanOn(span, wall);
  return found && found.start <= wall && wall <= found.end;
}

/** The end of a span, read on the day of a time. */
export function endOfSpan(span: TimeRange, wall: WallMs): WallMs | undefined {
  return spanOn(span, wall)?.end;
}

/** True if `range` lets a job run at a time (Salt: schedule._handle_range). */
function isAllowed(range: NonNullable<Gates['range']>, wall: WallMs): boolean {
  const found = spanOn(range, wall);
  if (found === undefined) return false;
  if (range.invert) return wall <= found.start || wall >= found.end;
  return found.start <= wall && wall <= found.end;
}

/**
 * The first moment, from another one on, at which `range` lets a job run; undefined: never. A job
 * with an interval waits for it, as in Salt, unless a skip function runs instead.
 */
export function firstAllowed(range: Gates['range'], from: number, zone: Zone): number | undefined {
  const wall = wallOf(from, zone);
  if (range?.waits !== true || isAllowed(range, wall)) return from;
  for (const date of daysFrom(wall, [range.start, range.end])) {
    const bounds = [timeOn(range.start, date), timeOn(range.end, date)];
    const ofDay = [date, ...bounds].filter((one) => one !== undefined && dayOf(one) === date);
    const later = ofDay.filter((one) => one !== undefined && one > wall).sort(ascending);
    const found = later.find((one) => one !== undefined && isAllowed(range, one));
    if (found !== undefined) return momentOf(found, zone);
  }
  return undefined;
}

function ascending(a: number | undefined, b: number | undefined): number {
  return (a ?? 0) - (b ?? 0);
}

/** The next days, and days that texts name, which may be years ahead. */
function daysFrom(wall: WallMs, texts: readonly DateText[]): readonly WallMs[] {
  const today = dayOf(wall);
  const near = Array.from({ length: DAYS_AHEAD }, (_, days) => daysLater(today, days));
  const last = near.at(-1) ?? today;
  const far = texts
    .map((text) => timeOn(text, today))
    .filter((time) => time !== undefined)
    .map(dayOf);
  return [...near, ...far.filter((day) => day > last).sort(ascending)];
}

/** Reason why a job does not run at a time, and whether `skip_function` runs instead. */
export interface Kept {
  readonly reason: SkipReason;
  readonly takesSkipFunction: boolean;
}

/**
 * Finds the gate that stops a due job. All gates must let it pass; in Salt only the last one
 * decides.
 */
export function keptBy(
  job: Pick<ScheduledJob, 'gates' | 'skipExplicit'>,
  skips: readonly WallMs[],
  wall: WallMs,
  loopMs: number,
): Kept | undefined {
  const { range, skipDuringRange, until, after } = job.gates;
  const at = (text: DateText | undefined): WallMs | undefined =>
    text === undefined ? undefined : timeOn(text, dayOf(wall));
  if (range !== undefined && !isAllowed(range, wall)) {
    const reason = range.invert ? 'in_skip_range' : 'not_in_range';
    return { reason, takesSkipFunction: !range.invert };
  }
  if (skipDuringRange !== undefined && isInSpan(skipDuringRange, wall) !== false) {
    return { reason: 'in_skip_range', takesSkipFunction: true };
  }
  const explicit = [...job.skipExplicit, ...skips];
  if (explicit.some((time) => time <= wall && wall <= time + loopMs)) {
    return { reason: 'skip_explicit', takesSkipFunction: true };
  }
  if ((at(until) ?? Infinity) <= wall) return { reason: 'until_passed', takesSkipFunction: false };
  if ((at(after) ?? -Infinity) >= wall) {
    return { reason: 'after_not_passed', takesSkipFunction: false };
  }
  return undefined;
}
