import { randomFrom } from '@brine/testing';
import { attempt } from './attempt.ts';
import { corpusOf, keep } from './corpus.ts';
import type { Coverage } from './coverage.ts';
import { mutate } from './mutate.ts';
import type { Target } from './targets.ts';

/** Allowed growth of the heap between the first tenth of a target's time and its end. */
const GROWTH_MAX = 32 * 1_048_576;
/** Inputs between two readings of the clock. */
const ROUND = 500;
const FAULTS_MAX = 20;
/** Maximum of inputs of a target that reached something new and are mutated further. */
const FOUND_MAX = 20_000;

/** The result of one target. */
export interface FuzzResult {
  readonly target: string;
  readonly inputs: number;
  readonly slowestMs: number;
  /** Growth of the heap, bytes. */
  readonly growth: number;
  readonly faults: readonly string[];
  /** Places reached, and inputs that reached new ones; absent without coverage. */
  readonly guided: { readonly places: number; readonly found: number } | undefined;
}

/** Options for running a target. */
export interface FuzzOptions {
  readonly forMs: number;
  readonly seed: number;
  /** Inputs that reach something new are mutated further. */
  readonly coverage?: Coverage | undefined;
}

/** Runs a target for a time; seeds and former failures come first. */
export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzResult> {
  const { forMs, seed, coverage } = options;
  const random = randomFrom(seed);
  const pool = [...target.seeds(), ...corpusOf(target.name)];
  const first = pool.length;
  const faults: string[] = [];
  let inputs = 0;
  let slowestMs = 0;
  const put = async (bytes: Buffer): Promise<void> => {
    inputs += 1;
    const { ms, fault } = await attempt(target, bytes);
    slowestMs = Math.max(slowestMs, ms);
    if (fault !== undefined) faults.push(`${fault} (${keep(target.name, bytes)})`);
    if (coverage?.anythingNew() === true && pool.length - first < FOUND_MAX) pool.push(bytes);
  };
  for (const bytes of pool.slice(0, first)) await put(bytes);
  const start = performance.now();
  let warm: number | undefined;
  while (performance.now() < start + forMs && faults.length < FAULTS_MAX) {
    for (let n = 0; n < ROUND; n += 1) await put(mutate(pool, random));
    if (performance.now() > start + forMs / 10) warm ??= heapUsed();
  }
  const growth = warm === undefined ? 0 : heapUsed() - warm;
  // Found inputs are kept on purpose.
  const kept = pool.slice(first).reduce((sum, bytes) => sum + bytes.length + 200, 0);
  if (growth - kept > GROWTH_MAX) faults.push(`the heap grew by ${growth >> 20} MiB`);
  const guided = coverage && { places: coverage.reached, found: pool.length - first };
  return { target: target.name, inputs, slowestMs, growth, faults, guided };
}

function heapUsed(): number {
  globalThis.gc?.();
  const { heapUsed: used, external } = process.memoryUsage();
  return used + external;
}
