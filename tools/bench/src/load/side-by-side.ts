import type { Releasers } from '@brine/service';
import { BrineUnderTest } from '../masters/brine.ts';
import type { MasterOptions } from '../masters/master.ts';
import { pairedRatios, spreadOf } from '../measure/statistics.ts';
import { Fleet, type ReturnStorm } from './fleet.ts';
import { type LoadSample, storedSlice } from './stored-slice.ts';

const MINIONS = 500;
/** Fewer in flight than the cores could take: batches are then alike on a busy machine. */
const IN_FLIGHT = 64;
/** Returns of one slice; CPU time is counted in ticks of 10 ms a process, this makes over 100. */
export const RETURNS_PER_SLICE = 2_000;
/**
 * A worker's code is cold for its first ten thousand returns, which then cost twice as much; of two
 * workers each gets half.
 */
const WARM_UP_SLICES = (2 * 10_000) / RETURNS_PER_SLICE;
const WARM_SLICES = 3;

/** A Brine master with minions that are logged in, warmed up. */
export interface Side {
  readonly name: string;
  readonly master: BrineUnderTest;
  readonly fleet: Fleet;
  /** Returns that wait for their answer at any moment of a storm. */
  readonly inFlight: number;
}

/** How a side is set up and loaded. */
export interface SideOptions extends MasterOptions {
  readonly inFlight?: number;
}

/**
 * Starts one side of a comparison; the releasers end it.
 * @throws Error where the master does not serve or a minion can not log in.
 */
export async function openSide(
  releasers: Releasers,
  name: string,
  checkout: string,
  { inFlight = IN_FLIGHT, ...options }: SideOptions,
  say: (line: string) => void,
): Promise<Side> {
  const master = await BrineUnderTest.start(checkout, options);
  releasers.add(() => master.close());
  const behaviours = [{ share: 1, answer: 'never' }] as const;
  const fleet = await Fleet.start(master, { minions: MINIONS, behaviours, say });
  releasers.add(() => fleet.close());
  const { answered } = await fleet.logIn();
  if (answered < MINIONS) throw new Error(`${name}: only ${answered} minions logged in`);
  return { name, master, fleet, inFlight };
}

/**
 * Loads one side alone until its code is compiled. Returns the CPU per return then, in µs, and
 * prints that of the first ones.
 */
export async function warmUp(
  side: Side,
  say: (line: string) => void,
  slices = WARM_UP_SLICES,
): Promise<number> {
  const costs: number[] = [];
  for (let slice = 0; slice < slices; slice += 1) {
    costs.push(microsPerReturn(await stored(side, await storm(side))));
  }
  const warm = spreadOf(costs.slice(-WARM_SLICES))?.median ?? Number.NaN;
  const cold = costs.slice(0, WARM_SLICES).map((cost) => cost.toFixed(0));
  say(`${side.name}: ${cold.join(', ')} µs per return after the start, ${warm.toFixed(0)} later`);
  return warm;
}

/** What a slice of each side gave, by pair. */
export interface Pairs {
  readonly before: readonly LoadSample[];
  readonly after: readonly LoadSample[];
}

/**
 * Gives both sides the same storm of returns at the same time, so many times: whatever else the
 * machine does takes from both, so the ratio of their CPU per return stays when the numbers do not.
 * @throws Error where a return is not answered or not stored.
 */
export async function loadTogether(
  before: Side,
  after: Side,
  pairs: number,
  say: (line: string) => void,
): Promise<Pairs> {
  const samples = { before: [] as LoadSample[], after: [] as LoadSample[] };
  for (let pair = 0; pair < pairs; pair += 1) {
    const ready = await Promise.all([storm(before), storm(after)]);
    const [one, other] = await Promise.all([stored(before, ready[0]), stored(after, ready[1])]);
    samples.before.push(one);
    samples.after.push(other);
    const micros = [one, other].map((sample) => microsPerReturn(sample).toFixed(0));
    say(`pair ${pair + 1} of ${pairs}: ${micros.join(' and ')} µs per return`);
  }
  return samples;
}

/** CPU of the whole master per return, in µs. */
export function microsPerReturn({ cpuSeconds, result }: LoadSample): number {
  return (cpuSeconds * 1e6) / result.answered;
}

/** CPU per return of the second side, as a multiple of the first one's, pair by pair. */
export function costRatios({ before, after }: Pairs): number[] {
  return pairedRatios(after.map(microsPerReturn), before.map(microsPerReturn));
}

function storm({ fleet, inFlight }: Side): Promise<ReturnStorm> {
  return fleet.returns(RETURNS_PER_SLICE, inFlight);
}

async function stored({ name, master }: Side, ready: ReturnStorm): Promise<LoadSample> {
  const sample = await storedSlice(master, ready);
  const { answered } = sample.result;
  if (answered < RETURNS_PER_SLICE) {
    throw new Error(`${name}: ${answered} of ${RETURNS_PER_SLICE} answered`);
  }
  return sample;
}
