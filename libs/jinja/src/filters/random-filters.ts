import { createHash } from 'node:crypto';
import { bind, wholeNumber } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { valueError } from '../errors.ts';
import { sampled, SeededRandom } from '../python/random.ts';
import { str } from '../python/text.ts';
import { type CallArguments, isInt, iterate, Undefined } from '../python/values.ts';

/** Characters of a random text at most. */
const TEXT_MAX = 1_048_576;

/** Integers are hashed modulo this prime (CPython: Python/pyhash.c). */
const HASH_MODULUS = 2n ** 61n - 1n;

type Chance = () => number;

/** Salt's filters that draw (Salt: salt/utils/{jinja,data,stringutils}.py). */
export const RANDOM_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['random', (value, _args, { outside }) => oneOf(iterate(value), outside.random)],
  ['random_hash', (_value, args, { outside }) => randomHash(args, outside.random)],
  ['rand_str', (_value, args, { outside }) => randomHash(args, outside.random)],
  ['random_sample', (value, args, { outside }) => sample(value, args, outside.random)],
  ['random_shuffle', (value, args, { outside }) => shuffle(value, args, outside.random)],
  ['random_str', (value, _args, { outside }) => randomText(wholeNumber(value), outside.random)],
]);

function oneOf(list: readonly unknown[], chance: Chance): unknown {
  const one = list[Math.floor(chance() * list.length)];
  return one ?? new Undefined('No random item, sequence was empty.');
}

function randomHash(args: CallArguments, chance: Chance): string {
  const bound = bind('random_hash', ['size', 'hash_type'], args, {
    size: 9_999_999_999,
    hash_type: 'sha256',
  });
  const seed = String(chance() * wholeNumber(bound.get('size')));
  const type = bound.get('hash_type') == null ? 'sha256' : str(bound.get('hash_type'));
  if (!/^(?:md5|sha(?:1|224|256|384|512))$/.test(type))
    throw valueError(`unsupported hash type ${type}`);
  return createHash(type).update(seed).digest('hex');
}

function sample(value: unknown, args: CallArguments, chance: Chance): unknown[] {
  const bound = bind('sample', ['size', 'seed'], args, { seed: null });
  return drawn(iterate(value), wholeNumber(bound.get('size')), bound.get('seed'), chance);
}

function shuffle(value: unknown, args: CallArguments, chance: Chance): unknown[] {
  const list = iterate(value);
  const seed = bind('shuffle', ['seed'], args, { seed: null }).get('seed');
  return drawn(list, list.length, seed, chance);
}

/**
 * A number as the seed gives the same each time, as in Python. A text does so here too: Python
 * hashes texts otherwise in each process, so that nothing depends on which one it gives.
 */
function drawn(list: readonly unknown[], size: number, seed: unknown, chance: Chance): unknown[] {
  if (size < 0 || size > list.length) {
    throw valueError('Sample larger than population or is negative');
  }
  if (seed === null) return sampled(list, size, (limit) => Math.floor(chance() * limit));
  const random = new SeededRandom(isInt(seed) ? hashOf(BigInt(seed)) : numberOfText(str(seed)));
  return sampled(list, size, (limit) => random.below(limit));
}

/** What Python's `hash` makes of an integer. */
function hashOf(seed: bigint): bigint {
  const hash = seed % HASH_MODULUS;
  return hash === -1n ? -2n : hash;
}

function numberOfText(text: string): bigint {
  return createHash('sha256').update(text).digest().readBigUInt64BE();
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function randomText(size: number, chance: Chance): string {
  if (size < 0) throw valueError('negative argument not allowed');
  if (size > TEXT_MAX) throw valueError(`random_str: at most ${TEXT_MAX} characters`);
  const sign = (): string => BASE64.charAt(Math.floor(chance() * BASE64.length));
  return Array.from({ length: size }, sign).join('');
}
