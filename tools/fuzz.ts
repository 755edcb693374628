// `npm run fuzz -- --minutes N [--target name] [--seed n]`: broken and invented inputs to all that
// reads what strangers send. An input that throws what it should not, or takes longer than 100 ms,
// is written to test/fixtures/fuzz/<target> and fails the run; what lies there is tried first.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createHash } from 'node:crypto';
import { randomFrom } from '@brine/testing';
import { mutate } from './fuzz/mutate.ts';
import { TARGETS, type Target } from './fuzz/targets.ts';

const CORPUS = new URL('../test/fixtures/fuzz/', import.meta.url).pathname;
/** No input may hold a service up for longer, in ms of this process. */
const TIME_MAX_MS = 100;
/** What the heap may grow by between the first tenth of a run and its end. */
const GROWTH_MAX = 64 * 1_048_576;
const ROUND = 500;

/** What one target did. */
export interface FuzzResult {
  readonly target: string;
  readonly inputs: number;
  readonly slowestMs: number;
  readonly faults: readonly string[];
}

/** Runs a target for so long, its corpus first. */
export async function fuzz(target: Target, forMs: number, seed: number): Promise<FuzzResult> {
  const random = randomFrom(seed);
  const kept = corpusOf(target.name);
  const seeds = [...target.seeds(), ...kept];
  const faults: string[] = [];
  let inputs = 0;
  let slowestMs = 0;
  const attempt = async (bytes: Buffer): Promise<void> => {
    inputs += 1;
    const start = process.cpuUsage();
    let fault: string | undefined;
    try {
      await target.run(bytes);
    } catch (error) {
      fault = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    }
    const { user, system } = process.cpuUsage(start);
    const ms = (user + system) / 1000;
    slowestMs = Math.max(slowestMs, ms);
    if (ms > TIME_MAX_MS) {
      // Once more: the first time may have been that of a collection or a compilation.
      const again = process.cpuUsage();
      await target.run(bytes).catch(() => undefined);
      const second = process.cpuUsage(again);
      if ((second.user + second.system) / 1000 > TIME_MAX_MS) fault ??= `took ${Math.round(ms)} ms`;
    }
    if (fault !== undefined && faults.length < 20) {
      faults.push(`${fault} (${keep(target.name, bytes)})`);
    }
  };
  for (const bytes of seeds) await attempt(bytes);
  const end = performance.now() + forMs;
  while (performance.now() < end && faults.length < 20) {
    for (let n = 0; n < ROUND; n += 1) await attempt(mutate(seeds, random));
  }
  return { target: target.name, inputs, slowestMs, faults };
}

function corpusOf(name: string): Buffer[] {
  const dir = join(CORPUS, name);
  try {
    return readdirSync(dir).map((file) => readFileSync(join(dir, file)));
  } catch {
    // Nothing was found wrong with this target yet.
    return [];
  }
}

function keep(name: string, bytes: Buffer): string {
  const dir = join(CORPUS, name);
  mkdirSync(dir, { recursive: true });
  const file = join(dir, createHash('sha256').update(bytes).digest('hex').slice(0, 16));
  writeFileSync(file, bytes);
  return file;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      target: { type: 'string' },
      seed: { type: 'string', default: '1' },
    },
  });
  const chosen = TARGETS.filter(
    ({ name }) => values.target === undefined || name === values.target,
  );
  const eachMs = (Number(values.minutes) * 60_000) / Math.max(1, chosen.length);
  let total = 0;
  let failed = false;
  let heap = 0;
  for (const [index, target] of chosen.entries()) {
    const { inputs, slowestMs, faults } = await fuzz(target, eachMs, Number(values.seed) + index);
    total += inputs;
    failed ||= faults.length > 0;
    const shown = `${target.name}: ${inputs} inputs, slowest ${slowestMs.toFixed(1)} ms of CPU`;
    process.stdout.write(`${[shown, ...faults].join('\n  ')}\n`);
    globalThis.gc?.();
    const used = process.memoryUsage().heapUsed;
    if (index === 0) heap = used;
    else if (globalThis.gc !== undefined && used - heap > GROWTH_MAX) {
      process.stdout.write(`  memory grew by ${Math.round((used - heap) / 1_048_576)} MiB\n`);
      failed = true;
    }
  }
  process.stdout.write(
    `${total} inputs in ${values.minutes} min: ${failed ? 'FAULTS' : 'no fault'}\n`,
  );
  process.exitCode = failed || chosen.length === 0 ? 1 : 0;
}
