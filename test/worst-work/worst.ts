/** CPU that one input may take, in ms: longer, and other requests of a worker wait noticeably. */
export const CPU_MAX_MS = 50;

/** A run may meet a collection or a compilation: the best of so many tries counts. */
const TRIES_MAX = 6;

/** Bad inputs for what reads or matches them. */
export interface WorstWork {
  /** The exported functions that these inputs are for, as `library.name`. */
  readonly of: readonly string[];
  /** Makes the inputs, each with its name; what runs is what is measured. */
  readonly inputs: () => readonly (readonly [name: string, run: () => unknown])[];
}

/** The least CPU that a run took, in ms of this process; errors are answers. */
export async function cpuMsOf(run: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES_MAX && least > CPU_MAX_MS; tries += 1) {
    const start = process.cpuUsage();
    try {
      await run();
    } catch {
      // A refusal: that is what most of these inputs are for.
    }
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/** A text so many times, with what is different in each. */
export function many(count: number, text: (at: number) => string, between = ''): string {
  return Array.from({ length: count }, (_, at) => text(at)).join(between);
}
