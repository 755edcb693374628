import { createHash } from 'node:crypto';
import { bind, bindFilter, wholeNumber } from '../arguments.ts';
import type { Filter } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { compare } from '../python/operators.ts';
import { sampled, SeededRandom } from '../python/random.ts';
import { str } from '../python/text.ts';
import {
  type CallArguments,
  isFloat,
  iterate,
  lengthOf,
  typeName,
  Undefined,
} from '../python/values.ts';

/** Characters of a random text at most. */
const TEXT_MAX = 1_048_576;

type Chance = () => number;

/** Salt's random filters (Salt: salt/utils/{jinja,data,stringutils}.py). */
export const RANDOM_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['random', (value, _args, { outside }) => oneOf(iterate(value), outside.random)],
  ['random_hash', (_value, args, { outside }) => randomHash(args, outside.random)],
  ['rand_str', (_value, args, { outside }) => randomHash(args, outside.random)],
  ['random_sample', (value, args, { outside }) => sample(value, args, outside.random)],
  ['random_shuffle', (value, args, { outside }) => shuffle(value, args, outside.random)],
  ['random_str', (value, args, { outside }) => randomText(value, args, outside.random)],
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
  const bound = bindFilter('sample', 'value', value, ['size', 'seed'], args, { seed: null });
  return drawn(value, bound.get('size'), bound.get('seed'), chance);
}

function shuffle(value: unknown, args: CallArguments, chance: Chance): unknown[] {
  const bound = bindFilter('shuffle', 'value', value, ['seed'], args, { seed: null });
  return drawn(value, lengthOf(value), bound.get('seed'), chance);
}

/** A seed gives the same result each time. */
function drawn(value: unknown, size: unknown, seed: unknown, chance: Chance): unknown[] {
  const below = seed === null ? chanceBelow(chance) : seededBelow(seed);
  if (!Array.isArray(value) && typeof value !== 'string' && !(value instanceof Uint8Array)) {
    throw typeError('Population must be a sequence.  For dicts or sets, use sorted(d).');
  }
  const list = iterate(value);
  if (!compare('<=', 0, size) || !compare('<=', size, list.length)) {
    throw valueError('Sample larger than population or is negative');
  }
  if (isFloat(size)) throw typeError("can't multiply sequence by non-int of type 'float'");
  return sampled(list, wholeNumber(size), below);
}

type Below = (limit: number) => number;

function chanceBelow(chance: Chance): Below {
  return (limit) => Math.floor(chance() * limit);
}

/** Salt seeds by the sum of a text (Salt: salt/utils/data.py hash, sample). */
function seededBelow(seed: unknown): Below {
  if (typeof seed !== 'string' && !(seed instanceof Uint8Array)) {
    throw typeError('object supporting the buffer API required');
  }
  const random = SeededRandom.ofText(createHash('sha512').update(seed).digest('hex'));
  return (limit) => random.below(limit);
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function randomText(value: unknown, args: CallArguments, chance: Chance): string {
  const given = bindFilter('random', 'size', value, [], args, { size: 32 }).get('size');
  if (given instanceof Undefined || isFloat(given)) {
    throw typeError(`'${typeName(given)}' object cannot be interpreted as an integer`);
  }
  const size = wholeNumber(given);
  if (size < 0) throw valueError('negative argument not allowed');
  if (size > TEXT_MAX) throw new JinjaError('Limit', `random_str: at most ${TEXT_MAX} characters`);
  const sign = (): string => BASE64.charAt(Math.floor(chance() * BASE64.length));
  return Array.from({ length: size }, sign).join('');
}
