import { isMap, mapOf, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr, strftime, wallClock } from '@brine/wire/text';
import { type Chunk, textAt } from '../values.ts';

/** The local time of day as Python's `time.isoformat` writes it, with microseconds. */
export function timeOfDay(ms: number): string {
  const micros = Math.floor((ms - Math.floor(ms / 1000) * 1000) * 1000);
  return strftime(wallClock(new Date(ms)), micros === 0 ? '%T' : '%T.%f', micros);
}

/** Milliseconds with three decimals, as a float of Python. */
export function durationOf(ms: number): number | SaltFloat {
  const rounded = Math.round(Math.max(0, ms) * 1000) / 1000;
  return Number.isInteger(rounded) ? new SaltFloat(rounded) : rounded;
}

/** The number of a duration. */
export function msOf(duration: SaltValue | undefined): number {
  if (duration instanceof SaltFloat) return duration.value;
  return typeof duration === 'number' ? duration : 0;
}

/** Puts the names of a chunk into a result, in Salt's order. */
export function withNames(ret: SaltMap, chunk: Chunk): SaltMap {
  for (const key of ['__sls__', '__id__', 'name']) ret.set(key, chunk.get(key) ?? null);
  return ret;
}

/** Keys that every result of a state has. */
const NEEDED = ['name', 'result', 'changes', 'comment'];

/** A result with a comment of one text and a plain outcome (Salt: OutputUnifier). */
export function unified(ret: SaltValue): SaltMap {
  const wrong = malformed(ret);
  if (wrong !== undefined || !isMap(ret)) {
    return mapOf({
      result: false,
      name: 'later',
      changes: mapOf({}),
      comment: `An exception occurred in this state: ${wrong ?? ''}`,
    });
  }
  const comment = ret.get('comment');
  if (Array.isArray(comment)) ret.set('comment', comment.map(pyStr).join('\n'));
  const result = ret.get('result') ?? null;
  if (result !== null) ret.set('result', isTruthy(result));
  return ret;
}

function malformed(ret: SaltValue): string | undefined {
  if (!isMap(ret)) return 'Malformed state return. Data must be a dictionary type.';
  if (!isMap(ret.get('changes'))) return "'Changes' should be a dictionary.";
  const missing = NEEDED.filter((key) => !ret.has(key));
  if (missing.length === 0) return undefined;
  return `The following keys were not present in the state return: ${missing.join(', ')}.`;
}

/**
 * True if all states of a run succeeded (Salt: salt/utils/state.py check_result). `inner` is for
 * the results of one minion, where values other than maps do not count.
 */
export function checkResult(running: SaltValue, inner = false): boolean {
  if (!isMap(running) || running.size === 0) return false;
  for (const [tag, ret] of running) {
    const fits = tag === '__extend__' ? Array.isArray(ret) : isMap(ret);
    if (!inner && !fits) return false;
    if (!isMap(ret)) continue;
    const result = ret.get('result');
    if (result === false) return false;
    if (result === undefined && !checkResult(ret, true)) return false;
  }
  return true;
}

/** The text of a result for the log (Salt: format_log). */
export function logText(ret: SaltMap): string {
  const changes = ret.get('changes');
  if (!isTruthy(changes)) {
    const comment = ret.get('comment');
    return isTruthy(comment) ? pyStr(comment ?? '') : `No changes made for ${textAt(ret, 'name')}`;
  }
  if (isMap(changes) && typeof changes.get('diff') === 'string') {
    return `File changed:\n${textAt(changes, 'diff')}`;
  }
  const pairs = isMap(changes) ? [...changes] : [];
  const isOldNew = pairs.every(([, one]) => isMap(one) && one.has('old') && one.has('new'));
  if (!isOldNew || pairs.length === 0) return pyStr(changes ?? null);
  const lines = pairs.map(([key, one]) => {
    const [before, after] = ['old', 'new'].map((side) => shown(isMap(one) ? one.get(side) : null));
    return `'${pyStr(key)}' changed from '${before}' to '${after}'\n`;
  });
  return `Made the following changes:\n${lines.join('')}`;
}

function shown(value: SaltValue | undefined): string {
  const isAbsent = !isTruthy(value) && value !== false && value !== null;
  return isAbsent ? 'absent' : pyStr(value ?? null);
}

/** The end of a Python traceback: the kind of an error and its text. */
export function tracebackOf(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return `Traceback (most recent call last):\n${name}: ${message}\n`;
}
