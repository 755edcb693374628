import { matchGlob } from '@brine/target';
import type { SaltValue } from '@brine/wire';
import type { Behaviour } from '../types.ts';

/** The default behaviour of a minion. */
export const GOOD: Behaviour = {};

/**
 * The behaviour of one of `total` minions: the first whose glob matches; else shares in order, each
 * a range of indices; else {@link GOOD}.
 */
export function behaviourOf(
  behaviours: readonly Behaviour[],
  id: string,
  index: number,
  total: number,
): Behaviour {
  for (const one of behaviours) {
    if (one.ids !== undefined && matchGlob(one.ids, id)) return one;
  }
  let upTo = 0;
  for (const one of behaviours) {
    if (one.ids !== undefined) continue;
    upTo += (one.share ?? 1) * total;
    // Shares such as 0.1 do not add up to whole numbers.
    if (index < upTo - 1e-9) return one;
  }
  return GOOD;
}

/** The wait before an answer. */
export function delayOf(behaviour: Behaviour, random: () => number = Math.random): number {
  const { delayMs } = behaviour;
  if (delayMs === undefined || typeof delayMs === 'number') return delayMs ?? 0;
  return between(delayMs, random);
}

/** A number drawn between two bounds. */
export function between(
  [from, to]: readonly [number, number],
  random: () => number = Math.random,
): number {
  return from + (to - from) * random();
}

/** The return of a function: true as test.ping, an echo, or a text of the wanted size. */
export function returnValue(
  fun: string | readonly string[],
  args: readonly SaltValue[],
  behaviour: Behaviour,
): SaltValue {
  if (behaviour.returnBytes !== undefined) return 'x'.repeat(behaviour.returnBytes);
  if (typeof fun !== 'string') {
    return new Map(fun.map((name) => [name, returnValue(name, [], behaviour)]));
  }
  if (behaviour.retcode !== undefined && behaviour.retcode !== 0) return `ERROR: ${fun} failed`;
  if (fun === 'test.echo') return args[0] ?? null;
  // No job runs longer than its delay, so find_job finds none.
  if (fun === 'saltutil.find_job') return new Map();
  return true;
}

const KEYS = new Set([
  'name',
  'share',
  'ids',
  'answer',
  'delayMs',
  'drop',
  'logInAgain',
  'returnBytes',
  'retcode',
  'hostile',
]);
/** A return is one message, and a master takes 100 MiB. */
const MAX_RETURN_BYTES = 104_857_600;

/** Checks behaviours of a file or a caller; throws Error with the problem. */
export function checkBehaviours(value: unknown): readonly Behaviour[] {
  if (!Array.isArray(value)) throw new Error('behaviours are a list');
  return value.map((one: unknown, index) => {
    const wrong = (what: string): Error => new Error(`behaviour ${index + 1}: ${what}`);
    if (typeof one !== 'object' || one === null) throw wrong('is no map');
    const behaviour = one as Behaviour;
    for (const key of Object.keys(one)) if (!KEYS.has(key)) throw wrong(`unknown key ${key}`);
    const { share, answer, delayMs, returnBytes, hostile } = behaviour;
    if (share !== undefined && !inRange(share, 1)) throw wrong('share is from 0 to 1');
    if (answer !== undefined && !['once', 'twice', 'never'].includes(answer)) {
      throw wrong('answer is once, twice or never');
    }
    const delays = Array.isArray(delayMs) ? delayMs : [delayMs ?? 0, delayMs ?? 0];
    if (delays.length !== 2 || !delays.every((ms) => inRange(ms, 86_400_000))) {
      throw wrong('delayMs is a number of ms or two bounds');
    }
    if (returnBytes !== undefined && !inRange(returnBytes, MAX_RETURN_BYTES)) {
      throw wrong('returnBytes is from 0 to 100 MiB');
    }
    if (hostile !== undefined && !['garbage', 'bad-mac', 'wrong-id'].includes(hostile)) {
      throw wrong('hostile is garbage, bad-mac or wrong-id');
    }
    return behaviour;
  });
}

function inRange(value: unknown, max: number): boolean {
  return typeof value === 'number' && value >= 0 && value <= max;
}
