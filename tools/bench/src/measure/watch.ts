import type { ProcessTree } from './process-tree.ts';

/** Memory of each service at one moment. */
export interface MemorySample {
  /** Since the watch began. */
  readonly seconds: number;
  /** PSS in MiB by service. */
  readonly mib: Readonly<Record<string, number>>;
}

/** Samples kept; at one a second this is over an hour. */
const SAMPLES_MAX = 5_000;
const KIB_PER_MIB = 1_024;

/** Takes the memory of all services every `everyMs` until it is ended; gives the samples then. */
export function watchMemory(
  tree: ProcessTree,
  everyMs = 1_000,
): { readonly end: () => Promise<readonly MemorySample[]> } {
  const startedAt = performance.now();
  const samples: MemorySample[] = [];
  const ended = new AbortController();
  const run = async (): Promise<void> => {
    while (!ended.signal.aborted && samples.length < SAMPLES_MAX) {
      const mib = Object.fromEntries(
        Object.entries(await tree.sizes()).map(([name, { pss }]) => [name, pss / KIB_PER_MIB]),
      );
      samples.push({ seconds: (performance.now() - startedAt) / 1_000, mib });
      await pause(everyMs, ended.signal);
    }
  };
  const running = run();
  return {
    end: async () => {
      ended.abort();
      await running;
      return samples;
    },
  };
}

/** Waits, but no longer than until the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

/** First, greatest and last memory of each service. */
export function memorySummary(
  samples: readonly MemorySample[],
): Readonly<Record<string, { first: number; most: number; last: number }>> {
  const names = new Set(samples.flatMap(({ mib }) => Object.keys(mib)));
  return Object.fromEntries(
    [...names].map((name) => {
      const all = samples.map(({ mib }) => mib[name] ?? 0);
      const round = (value: number): number => Number(value.toFixed(1));
      return [
        name,
        {
          first: round(all[0] ?? 0),
          most: round(Math.max(...all)),
          last: round(all.at(-1) ?? 0),
        },
      ];
    }),
  );
}
