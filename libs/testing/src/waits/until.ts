import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

/** On a busy machine things are slow, but not slower than this. */
const PATIENCE_MS = 30_000;
const PAUSE_MIN_MS = 5;
const PAUSE_MAX_MS = 200;
const SEEN_CHARS_MAX = 2_000;

// Bound before a test can put a clock of its own in their place.
const now = performance.now.bind(performance);

/** How long a wait may take. */
export interface UntilOptions {
  /** In ms; default 30 s. */
  readonly withinMs?: number;
}

/**
 * Waits for something that no event announces: repeats `check` until it passes and returns its
 * value. A check that throws, or returns false or undefined, has not passed yet. An `expect`
 * returns neither; a check of several statements ends with `return true`.
 *
 * @param what the awaited thing, for the error.
 * @throws Error when the time is up, with the last value seen; its cause is the last error.
 */
export async function until<T>(
  what: string,
  check: () => T | Promise<T>,
  { withinMs = PATIENCE_MS }: UntilOptions = {},
): Promise<Exclude<T, false | undefined>> {
  const giveUpAt = now() + withinMs;
  let seen: Seen = { unfinished: true };
  for (let tries = 1; ; tries += 1) {
    const begin = now();
    const next = await inTime(check, giveUpAt - begin);
    // The previous result is worth more than one that was cut short.
    if (!('unfinished' in next) || tries === 1) seen = next;
    if ('value' in next && next.value !== false && next.value !== undefined) {
      return next.value as Exclude<T, false | undefined>;
    }
    const left = giveUpAt - now();
    if (left <= 0 || 'unfinished' in next) throw notSeen(what, { withinMs, tries, seen });
    // An expensive check is made less often.
    const pauseMs = Math.min(Math.max(now() - begin, PAUSE_MIN_MS), PAUSE_MAX_MS);
    await sleep(Math.min(pauseMs, left));
  }
}

type Seen =
  { readonly value: unknown } | { readonly error: unknown } | { readonly unfinished: true };

/** The result of a check, or `unfinished` if it gave none within `leftMs`. */
async function inTime(check: () => unknown, leftMs: number): Promise<Seen> {
  const over = new AbortController();
  const late = sleep(Math.max(leftMs, 0), undefined, { signal: over.signal }).then(
    (): Seen => ({ unfinished: true }),
    (): Seen => ({ unfinished: true }),
  );
  try {
    const value = check();
    if (!(value instanceof Promise)) return { value };
    return await Promise.race([value.then((given: unknown): Seen => ({ value: given })), late]);
  } catch (error) {
    return { error };
  } finally {
    over.abort();
  }
}

function notSeen(
  what: string,
  { withinMs, tries, seen }: { withinMs: number; tries: number; seen: Seen },
): Error {
  const head = `waited ${withinMs} ms for this: ${what}; `;
  if ('unfinished' in seen) return new Error(`${head}the check itself did not end`);
  const times = tries === 1 ? 'once' : `${tries} times`;
  if ('value' in seen) return new Error(`${head}checked ${times}, seen last: ${show(seen.value)}`);
  const { error } = seen;
  const output = error instanceof Error ? error.message : show(error);
  const failure = new Error(`${head}checked ${times}, last error: ${output}`, { cause: error });
  // vitest prints the difference of these two, as for the assertion itself.
  if (error instanceof Error && 'actual' in error && 'expected' in error) {
    return Object.assign(failure, { actual: error.actual, expected: error.expected });
  }
  return failure;
}

function show(value: unknown): string {
  return inspect(value, { depth: 4 }).slice(0, SEEN_CHARS_MAX);
}
