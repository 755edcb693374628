import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Releasers } from '@brine/service';
import { type BuiltCheckout, openCheckout, tsc } from '@brine/testing/checkouts';
import type { BenchArguments } from '../arguments.ts';
import {
  costRatios,
  loadTogether,
  microsPerReturn,
  openSide,
  type Pairs,
  RETURNS_PER_SLICE,
  type Side,
  warmUp,
} from '../load/side-by-side.ts';
import type { LoadSample } from '../load/stored-slice.ts';
import { spreadOf } from '../measure/statistics.ts';
import { isDecided, judge, type Judgement, sayJudgement } from './verdict.ts';

/** Fewer pairs prove nothing at the threshold. */
const PAIRS_LEAST = 16;
/** On a noisy machine 16 pairs leave 8 % of doubt to each side; four times as many leave half. */
const PARTS_MAX = 4;
const PLANT = new URL('plant.mjs', import.meta.url).href;

/** `--quick`: prints the verdict; resolves with 1 for a proven slowdown. */
export async function compare(
  root: string,
  args: BenchArguments,
  say: (line: string) => void,
): Promise<number> {
  const base = await openCheckout(root, args.base ?? '', say);
  say(`base: ${base.name}`);
  await tsc(root);
  const judgement = await compareCheckouts(base, { dir: root, name: 'this checkout' }, args, say);
  process.stdout.write(`${sayJudgement(judgement)}\n`);
  return judgement.verdict === 'slower' ? 1 : 0;
}

/** What {@link compareCheckouts} takes of the arguments. */
export type CompareArguments = Pick<BenchArguments, 'pairs' | 'plant' | 'threshold'>;

/**
 * Runs both masters and loads them at the same time, with the same returns. It does so twice: of
 * two equal masters the one that was started first costs some 10 % more, so each is first once.
 * While a doubt is left it does so again.
 */
export async function compareCheckouts(
  base: BuiltCheckout,
  change: BuiltCheckout,
  args: CompareArguments,
  say: (line: string) => void,
): Promise<Judgement> {
  const plantDir = await mkdtemp(join(tmpdir(), 'brine-plant-'));
  await using releasers = new Releasers();
  releasers.add(() => rm(plantDir, { recursive: true, force: true }));
  const pairs = Math.max(args.pairs, PAIRS_LEAST);
  const plant: Plant = { dir: plantDir, percent: args.plant, env: {} };
  const samples = { before: [] as LoadSample[], after: [] as LoadSample[] };
  let judgement: Judgement;
  do {
    for (const baseFirst of [true, false]) {
      const asked = { base, change, baseFirst, pairs: Math.ceil(pairs / 2) };
      const { before, after } = await round(asked, plant, say);
      samples.before.push(...before);
      samples.after.push(...after);
    }
    judgement = judge(costRatios(samples), args.threshold);
    say(sayJudgement(judgement));
  } while (!isDecided(judgement, args.threshold) && samples.after.length < pairs * PARTS_MAX);
  const medians = (of: (sample: LoadSample) => number): readonly string[] =>
    [samples.before, samples.after].map((side) => spreadOf(side.map(of))?.median.toFixed(0) ?? '');
  const [there, here] = medians(microsPerReturn);
  say(`medians: ${there} µs per return in the base, ${here} µs here`);
  // What makes a return cheaper may make it wait.
  say(`answered after (p50): ${medians(({ result }) => result.p50Ms).join(' and ')} ms`);
  say(`answered after (p99): ${medians(({ result }) => result.p99Ms).join(' and ')} ms`);
  for (const line of drawServices(samples)) say(line);
  return judgement;
}

/** The CPU that is burnt in the changed master, and where its workers count it. */
interface Plant {
  readonly dir: string;
  readonly percent: number;
  /** Of the changed master; known when the base was measured. */
  env: Record<string, string>;
}

interface Round {
  readonly base: BuiltCheckout;
  readonly change: BuiltCheckout;
  readonly baseFirst: boolean;
  readonly pairs: number;
}

/** Starts both masters, one after the other, warms them up and loads them together. */
async function round(
  { base, change, baseFirst, pairs }: Round,
  plant: Plant,
  say: (line: string) => void,
): Promise<Pairs> {
  await using releasers = new Releasers();
  const open = async (isBase: boolean): Promise<[side: Side, warm: number]> => {
    const { name, dir } = isBase ? base : change;
    const opened = await openSide(releasers, name, dir, { env: isBase ? {} : plant.env }, say);
    return [opened, await warmUp(opened, say)];
  };
  const [first, firstWarm] = await open(baseFirst);
  if (baseFirst && plant.percent > 0) {
    plant.env = plantEnv(plant.dir, (firstWarm * plant.percent) / 100);
    say(`planting ${plant.percent} % of ${firstWarm.toFixed(0)} µs per return`);
  }
  const [second] = await open(!baseFirst);
  const burdenedBefore = await burdened(plant.dir);
  const found = await loadTogether(first, second, pairs, say);
  if (plant.percent > 0) {
    checkPlant((await burdened(plant.dir)) - burdenedBefore, pairs * RETURNS_PER_SLICE);
  }
  return baseFirst ? found : { before: found.after, after: found.before };
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
