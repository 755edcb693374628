import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchArguments } from '../arguments.ts';
import { Closing } from '../closing.ts';
import { Fleet } from '../load/fleet.ts';
import { BrineUnderTest } from '../masters/brine.ts';
import { pairedRatios, spreadOf } from '../measure/statistics.ts';
import { returnsSlice } from '../rows/returns.ts';
import { openBase, tsc, type BuiltCheckout } from './base.ts';
import { judge, sayJudgement, type Judgement } from './verdict.ts';

const MINIONS = 500;
/** Fewer in flight than the cores could take: batches are then alike on a busy machine. */
const IN_FLIGHT = 64;
/** Returns of one slice; CPU time is counted in ticks of 10 ms a process, this makes over 100. */
const RETURNS = 5_000;
const WARM_UP_SLICES = 2;
/** Fewer pairs prove nothing at the threshold. */
const PAIRS_LEAST = 12;
const PLANT = new URL('plant.mjs', import.meta.url).href;

/** `--quick`: prints the verdict; resolves with 1 for a proven slowdown. */
export async function compare(
  root: string,
  args: BenchArguments,
  say: (line: string) => void,
): Promise<number> {
  const base = await openBase(root, args.base, say);
  say(`base: ${base.name}`);
  await tsc(root);
  const judgement = await compareCheckouts(base, { dir: root, name: 'this checkout' }, args, say);
  process.stdout.write(`${sayJudgement(judgement)}\n`);
  return judgement.verdict === 'slower' ? 1 : 0;
}

/** What {@link compareCheckouts} takes of the arguments. */
export type CompareArguments = Pick<BenchArguments, 'pairs' | 'plant' | 'threshold'>;

/** Runs both masters at once and loads them in turn, with the same returns. */
export async function compareCheckouts(
  base: BuiltCheckout,
  change: BuiltCheckout,
  args: CompareArguments,
  say: (line: string) => void,
): Promise<Judgement> {
  const plantDir = await mkdtemp(join(tmpdir(), 'brine-plant-'));
  await using stack = new Closing();
  stack.defer(() => rm(plantDir, { recursive: true, force: true }));
  const before = await open(stack, base, {}, say);
  const warm = await warmUp(before);
  const planted = args.plant > 0 ? plantEnv(plantDir, (warm * args.plant) / 100) : {};
  if (args.plant > 0) say(`planting ${args.plant} % of ${warm.toFixed(0)} µs per return`);
  const after = await open(stack, change, planted, say);
  await warmUp(after);
  const burdenedBefore = await burdened(plantDir);
  const micros = { before: [] as number[], after: [] as number[] };
  const pairs = Math.max(args.pairs, PAIRS_LEAST);
  for (let pair = 0; pair < pairs; pair += 1) {
    // There and back: a drift of the machine favours neither.
    const order = pair % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const);
    for (const side of order)
      micros[side].push(await microsPerReturn(side === 'before' ? before : after));
    say(
      `pair ${pair + 1} of ${pairs}: ${micros.before.at(-1)?.toFixed(0)} and ` +
        `${micros.after.at(-1)?.toFixed(0)} µs per return`,
    );
  }
  if (args.plant > 0) {
    checkPlant((await burdened(plantDir)) - burdenedBefore, pairs * RETURNS);
  }
  say(
    `medians: ${spreadOf(micros.before)?.median.toFixed(0)} µs per return in the base, ` +
      `${spreadOf(micros.after)?.median.toFixed(0)} µs here`,
  );
  return judge(pairedRatios(micros.after, micros.before), args.threshold);
}

interface Side {
  readonly master: BrineUnderTest;
  readonly fleet: Fleet;
}

async function open(
  stack: Closing,
  { dir, name }: BuiltCheckout,
  env: Readonly<Record<string, string>>,
  say: (line: string) => void,
): Promise<Side> {
  const master = await BrineUnderTest.start(dir, { env });
  stack.defer(() => master.close());
  const behaviours = [{ share: 1, answer: 'never' }] as const;
  const fleet = await Fleet.start(master, { minions: MINIONS, behaviours, say });
  stack.defer(() => fleet.close());
  const { answered } = await fleet.logIn();
  if (answered < MINIONS) throw new Error(`${name}: only ${answered} minions logged in`);
  return { master, fleet };
}

async function warmUp(side: Side): Promise<number> {
  let last = 0;
  for (let slice = 0; slice < WARM_UP_SLICES; slice += 1) last = await microsPerReturn(side);
  return last;
}

async function microsPerReturn({ master, fleet }: Side): Promise<number> {
  const { cpuSeconds, result } = await returnsSlice(master, fleet, RETURNS, IN_FLIGHT);
  if (result.answered < RETURNS) throw new Error(`${result.answered} of ${RETURNS} answered`);
  return (cpuSeconds * 1e6) / result.answered;
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
