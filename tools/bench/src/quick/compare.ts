import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltCheckout, openCheckout, tsc } from '@brine/testing/checkouts';
import type { BenchArguments } from '../arguments.ts';
import { Closing } from '../closing.ts';
import {
  costRatios,
  loadTogether,
  microsPerReturn,
  openSide,
  type Pairs,
  RETURNS_PER_SLICE,
  warmUp,
} from '../load/side-by-side.ts';
import type { LoadSample } from '../load/stored-slice.ts';
import { spreadOf } from '../measure/statistics.ts';
import { judge, type Judgement, sayJudgement } from './verdict.ts';

/** Fewer pairs prove nothing at the threshold. */
const PAIRS_LEAST = 16;
const PLANT = new URL('plant.mjs', import.meta.url).href;

/** `--quick`: prints the verdict; resolves with 1 for a proven slowdown. */
export async function compare(
  root: string,
  args: BenchArguments,
  say: (line: string) => void,
): Promise<number> {
  const base = await openCheckout(root, args.base, say);
  say(`base: ${base.name}`);
  await tsc(root);
  const judgement = await compareCheckouts(base, { dir: root, name: 'this checkout' }, args, say);
  process.stdout.write(`${sayJudgement(judgement)}\n`);
  return judgement.verdict === 'slower' ? 1 : 0;
}

/** What {@link compareCheckouts} takes of the arguments. */
export type CompareArguments = Pick<BenchArguments, 'pairs' | 'plant' | 'threshold'>;

/** Runs both masters and loads them at the same time, with the same returns. */
export async function compareCheckouts(
  base: BuiltCheckout,
  change: BuiltCheckout,
  args: CompareArguments,
  say: (line: string) => void,
): Promise<Judgement> {
  const plantDir = await mkdtemp(join(tmpdir(), 'brine-plant-'));
  await using stack = new Closing();
  stack.defer(() => rm(plantDir, { recursive: true, force: true }));
  const before = await openSide(stack, base.name, base.dir, {}, say);
  const warm = await warmUp(before, say);
  const planted = args.plant > 0 ? plantEnv(plantDir, (warm * args.plant) / 100) : {};
  if (args.plant > 0) say(`planting ${args.plant} % of ${warm.toFixed(0)} µs per return`);
  const after = await openSide(stack, change.name, change.dir, { env: planted }, say);
  await warmUp(after, say);
  const burdenedBefore = await burdened(plantDir);
  const pairs = Math.max(args.pairs, PAIRS_LEAST);
  const samples = await loadTogether(before, after, pairs, say);
  if (args.plant > 0) {
    checkPlant((await burdened(plantDir)) - burdenedBefore, pairs * RETURNS_PER_SLICE);
  }
  const medians = (of: (sample: LoadSample) => number): readonly string[] =>
    [samples.before, samples.after].map((side) => spreadOf(side.map(of))?.median.toFixed(0) ?? '');
  const [there, here] = medians(microsPerReturn);
  say(`medians: ${there} µs per return in the base, ${here} µs here`);
  // What makes a return cheaper may make it wait.
  say(`answered after (p50): ${medians(({ result }) => result.p50Ms).join(' and ')} ms`);
  say(`answered after (p99): ${medians(({ result }) => result.p99Ms).join(' and ')} ms`);
  for (const line of drawServices(samples)) say(line);
  return judge(costRatios(samples), args.threshold);
}

/** Where the CPU time went, service by service: `worker-pool: 210 and 260 µs per return`. */
function drawServices({ before, after }: Pairs): string[] {
  const median = (side: readonly LoadSample[], name: string): number =>
    spreadOf(side.map(({ byService, result }) => ((byService[name] ?? 0) * 1e6) / result.answered))
      ?.median ?? 0;
  const names = new Set([...before, ...after].flatMap(({ byService }) => Object.keys(byService)));
  return [...names]
    .map((name) => ({ name, there: median(before, name), here: median(after, name) }))
    .filter(({ there, here }) => there >= 1 || here >= 1)
    .sort((a, b) => b.here - a.here)
    .map(({ name, there, here }) => `${name}: ${there.toFixed(0)} and ${here.toFixed(0)} µs`);
}

function plantEnv(dir: string, micros: number): Record<string, string> {
  return {
    NODE_OPTIONS: `--import ${PLANT}`,
    BRINE_BENCH_PLANT_MICROS: String(micros),
    BRINE_BENCH_PLANT_DIR: dir,
  };
}

/** Requests that the plant has burdened so far, in all workers. */
async function burdened(dir: string): Promise<number> {
  let sum = 0;
  for (const name of await readdir(dir)) sum += Number(await readFile(join(dir, name), 'utf8'));
  return sum;
}

/** A plant that did not take would make a detector look blind. */
function checkPlant(requests: number, returns: number): void {
  if (requests < returns * 0.9 || requests > returns * 1.5) {
    throw new Error(`the plant burdened ${requests} requests for ${returns} returns`);
  }
}
