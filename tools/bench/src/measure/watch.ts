import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessTree, ServiceSize } from './process-tree.ts';

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
  const running = lookAtSizes(tree, everyMs, ended.signal, (sizes) => {
    if (samples.length >= SAMPLES_MAX) return;
    const mib = Object.fromEntries(
      Object.entries(sizes).map(([name, { pss }]) => [name, pss / KIB_PER_MIB]),
    );
    samples.push({ seconds: (performance.now() - startedAt) / 1_000, mib });
  });
  return {
    end: async () => {
      ended.abort();
      await running;
      return samples;
    },
  };
}

/**
 * Looks at the sizes of all services now and every `everyMs`, until the signal.
 * @throws what a look fails with.
 */
export async function lookAtSizes(
  tree: Pick<ProcessTree, 'sizes'>,
  everyMs: number,
  signal: AbortSignal,
  found: (sizes: Readonly<Record<string, ServiceSize>>) => void,
): Promise<void> {
  while (!signal.aborted) {
    found(await tree.sizes());
    await pause(everyMs, signal);
  }
}

/** Waits, but no longer than until the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
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
