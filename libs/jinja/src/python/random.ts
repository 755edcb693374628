import { createHash } from 'node:crypto';

/** Words of the state (MT19937, as CPython's Modules/_randommodule.c has it). */
const WORDS = 624;
const MIDDLE = 397;

/** A source of random numbers with the results of Python's `random.Random` for the same seed. */
export class SeededRandom {
  readonly #state = new Uint32Array(WORDS);
  #at = WORDS;

  /** @param seed an integer; Python takes its absolute value */
  constructor(seed: bigint) {
    const words: number[] = [];
    for (let rest = seed < 0n ? -seed : seed; rest > 0n; rest >>= 32n) {
      words.push(Number(rest & 0xffff_ffffn));
    }
    this.#begin(words.length === 0 ? [0] : words);
  }

  /** The source that Python makes from a text. */
  static ofText(seed: string): SeededRandom {
    const text = Buffer.from(seed);
    const sum = createHash('sha512').update(text).digest('hex');
    return new SeededRandom(BigInt(`0x${text.toString('hex')}${sum}`));
  }

  /** An integer from 0 up to a limit, the limit excluded. */
  below(limit: number): number {
    const bits = 32 - Math.clz32(limit);
    for (;;) {
      const number = this.#next() >>> (32 - bits);
      if (number < limit) return number;
    }
  }

  #begin(key: readonly number[]): void {
    const state = this.#state;
    state[0] = 19_650_218;
    for (let at = 1; at < WORDS; at += 1)
      state[at] = Math.imul(1_812_433_253, mixed(state, at)) + at;
    let at = 1;
    let of = 0;
    for (let left = Math.max(WORDS, key.length); left > 0; left -= 1) {
      state[at] = (word(state, at) ^ Math.imul(mixed(state, at), 1_664_525)) + (key[of] ?? 0) + of;
      at += 1;
      of = (of + 1) % key.length;
      if (at === WORDS) at = wrapped(state);
    }
    for (let left = WORDS - 1; left > 0; left -= 1) {
      state[at] = (word(state, at) ^ Math.imul(mixed(state, at), 1_566_083_941)) - at;
      at += 1;
      if (at === WORDS) at = wrapped(state);
    }
    state[0] = 0x8000_0000;
  }

  #next(): number {
    if (this.#at === WORDS) this.#turn();
    let bits = word(this.#state, this.#at);
    this.#at += 1;
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c_5680;
    bits ^= (bits << 15) & 0xefc6_0000;
    return (bits ^ (bits >>> 18)) >>> 0;
  }

  #turn(): void {
    const state = this.#state;
    for (let at = 0; at < WORDS; at += 1) {
      const next = word(state, (at + 1) % WORDS);
      const joined = (word(state, at) & 0x8000_0000) | (next & 0x7fff_ffff);
      const odd = (next & 1) === 0 ? 0 : 0x9908_b0df;
      state[at] = word(state, (at + MIDDLE) % WORDS) ^ (joined >>> 1) ^ odd;
    }
    this.#at = 0;
  }
}

function word(state: Uint32Array, at: number): number {
  return state[at] ?? 0;
}

function mixed(state: Uint32Array, at: number): number {
  const before = word(state, at - 1);
  return before ^ (before >>> 30);
}

function wrapped(state: Uint32Array): number {
  state[0] = word(state, WORDS - 1);
  return 1;
}

/** Some elements of a list, each once, in the order of Python's `random.sample`. */
export function sampled<T>(
  list: readonly T[],
  size: number,
  below: (limit: number) => number,
): T[] {
  // Python copies the list if a set of places would be larger.
  const power = size > 5 ? Math.ceil(Math.log(size * 3) / Math.log(4)) : 0;
  const setSize = size > 5 ? 21 + 4 ** power : 21;
  if (list.length > setSize) return pickedApart(list, size, below);
  const pool = [...list];
  return Array.from({ length: size }, (_, at) => {
    const place = below(pool.length - at);
    const picked = pool[place] as T;
    pool[place] = pool[pool.length - at - 1] as T;
    return picked;
  });
}

function pickedApart<T>(list: readonly T[], size: number, below: (limit: number) => number): T[] {
  const places = new Set<number>();
  while (places.size < size) {
    let place = below(list.length);
    while (places.has(place)) place = below(list.length);
    places.add(place);
  }
  return Array.from(places, (place) => list[place] as T);
}
