import { setTimeout } from 'node:timers/promises';
import { cpuMs } from '@brine/testing/waits';

/** CPU that one input may take, in ms: longer, and other requests of a worker wait noticeably. */
export const CPU_MAX_MS = 50;

/**
 * What an input takes by itself is a quarter of that at most: the rest is for a machine on which
 * others work. A change that makes one slower shows in the output of the test.
 */
export const CPU_USUAL_MS = CPU_MAX_MS / 4;

/**
 * A run may meet a collection or a compilation, or a neighbour who takes the caches: the best of so
 * many tries counts. Longer and longer pauses come between the later ones where the limit would be
 * broken.
 */
const TRIES_MAX = 8;
const PAUSE_MS = 50;

/**
 * A machine on which others work is slower for all alike. What would break the limit is compared
 * with a fixed piece of work of the same kind (texts, made and read), measured there and then.
 */
const REFERENCE_TEXTS = 100_000;
/** What that takes on a quiet machine of the kind that the limit was set on, in ms of CPU. */
const REFERENCE_MS = 22;

/** Bad inputs for what reads or matches them. */
export interface WorstWork {
  /** The exported functions that these inputs are for, as `library.name`. */
  readonly of: readonly string[];
  /** Makes the inputs, each with its name; what runs is what is measured. */
  readonly inputs: () => readonly (readonly [name: string, run: () => unknown])[];
}

/**
 * The least CPU that a run took, in ms of the thread that runs it, as on a quiet machine. Errors
 * are answers.
 */
export async function cpuMsOf(run: () => unknown): Promise<number> {
  const least = await leastCpuMs(run);
  if (least <= CPU_MAX_MS) return least;
  return least / Math.max(1, (await leastCpuMs(reference)) / REFERENCE_MS);
}

function reference(): number {
  const texts = Array.from({ length: REFERENCE_TEXTS }, (_, at) => `10.${at % 250}.0.${at}`);
  return texts.filter((text) => text.toLowerCase().endsWith('9')).length;
}

async function leastCpuMs(run: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (least <= CPU_USUAL_MS) break;
    if (tries > 1 && least > CPU_MAX_MS) await setTimeout(PAUSE_MS * 2 ** (tries - 2));
    const start = cpuMs();
    try {
      await run();
    } catch {
      // A refusal: that is what most of these inputs are for.
    }
    least = Math.min(least, cpuMs() - start);
    // More than a neighbour can cause: no try of an exponential input need be waited for again.
    if (least > 20 * CPU_MAX_MS) break;
  }
  return least;
}

/** A text so many times, with what is different in each. */
export function many(count: number, text: (at: number) => string, between = ''): string {
  return Array.from({ length: count }, (_, at) => text(at)).join(between);
}
