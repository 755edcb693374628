import { unpack } from './msgpack/decode.ts';
import { scanMap } from './msgpack/scan.ts';
import type { SaltMap, SaltValue } from './value.ts';

/** Packed bytes of recently read values that stay unpacked. */
const OPENED_MAX_BYTES = 32 * 1024 * 1024;

/** Most distinct values that are indexed for sharing; a Map of V8 ends at 16 Mi entries. */
const SHARED_MAX = 4 * 1024 * 1024;

/** The value of a key in one or more maps. */
interface Kept {
  /** Packed, a character per byte: V8 keeps that flat, hashes it, and never walks into it. */
  readonly packed: string;
  uses: number;
  opened: SaltValue | undefined;
}

/** The common keys of maps, in order. */
interface Shape {
  readonly packed: string;
  readonly index: ReadonlyMap<SaltValue, number>;
  uses: number;
}

/**
 * Many large and similar maps, such as the grains of all minions. They are kept packed, with key
 * sets and values of equal bytes once, and unpacked value by value when read. As `Map`s of their
 * own they would take six times their packed size.
 */
export class PackedMaps {
  readonly #maps = new Map<string, PackedMap>();
  readonly #shapes = new Map<string, Shape>();
  readonly #values = new Values();

  /** Number of maps. */
  get size(): number {
    return this.#maps.size;
  }

  /**
   * Stores a packed map under an id, replacing an earlier one.
   * @throws WireError if the bytes are not one packed map
   */
  set(id: string, packed: Uint8Array): void {
    const scan = scanMap(packed);
    const entries = new Map(
      scan.entries.map((entry) => {
        const key = scan.bytesIn.toString('latin1', entry.keyStart, entry.valueStart);
        return [key, scan.bytesIn.toString('latin1', entry.valueStart, entry.valueEnd)] as const;
      }),
    );
    const kept = [...entries.values()].map((value) => this.#values.take(value));
    const map = new PackedMap(this.#shapeOf([...entries.keys()]), kept, this.#values);
    this.delete(id);
    this.#maps.set(id, map);
  }

  /** The map under an id. Do not change its values: other maps share them. */
  get(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined {
    return this.#maps.get(id);
  }

  delete(id: string): void {
    const map = this.#maps.get(id);
    if (map === undefined) return;
    this.#maps.delete(id);
    for (const kept of map.kept) this.#values.release(kept);
    map.shape.uses -= 1;
    if (map.shape.uses === 0) this.#shapes.delete(map.shape.packed);
  }

  clear(): void {
    this.#maps.clear();
    this.#shapes.clear();
    this.#values.clear();
  }

  #shapeOf(keys: readonly string[]): Shape {
    const packed = keys.join('');
    let shape = this.#shapes.get(packed);
    if (shape === undefined) {
      const index = new Map(keys.map((key, at) => [unpackText(key), at]));
      shape = { packed, index, uses: 0 };
      this.#shapes.set(packed, shape);
    }
    shape.uses += 1;
    return shape;
  }
}

/** The values of all maps. */
class Values {
  readonly #shared = new Map<string, Kept>();
  #openedBytes = 0;

  take(packed: string): Kept {
    const known = this.#shared.get(packed);
    if (known !== undefined) {
      known.uses += 1;
      return known;
    }
    const kept: Kept = { packed, uses: 1, opened: undefined };
    if (this.#shared.size < SHARED_MAX) this.#shared.set(packed, kept);
    return kept;
  }

  release(kept: Kept): void {
    kept.uses -= 1;
    if (kept.uses > 0) return;
    if (kept.opened !== undefined) this.#openedBytes -= kept.packed.length;
    if (this.#shared.get(kept.packed) === kept) this.#shared.delete(kept.packed);
  }

  open(kept: Kept): SaltValue {
    const value = unpackText(kept.packed);
    if (this.#openedBytes + kept.packed.length <= OPENED_MAX_BYTES) {
      this.#openedBytes += kept.packed.length;
      kept.opened = value;
    }
    return value;
  }

  clear(): void {
    this.#shared.clear();
    this.#openedBytes = 0;
  }
}

function unpackText(packed: string): SaltValue {
  return unpack(Buffer.from(packed, 'latin1'));
}

/** Reads as the map that it was packed from. */
class PackedMap extends Map<SaltValue, SaltValue> implements SaltMap {
  readonly shape: Shape;
  readonly kept: readonly Kept[];
  readonly #values: Values;

  constructor(shape: Shape, kept: readonly Kept[], values: Values) {
    super();
    this.shape = shape;
    this.kept = kept;
    this.#values = values;
  }

  override get size(): number {
    return this.shape.index.size;
  }

  override has(key: SaltValue): boolean {
    return this.shape.index.has(key);
  }

  override get(key: SaltValue): SaltValue | undefined {
    const at = this.shape.index.get(key);
    return at === undefined ? undefined : this.#at(at);
  }

  override keys(): MapIterator<SaltValue> {
    return this.shape.index.keys();
  }

  override *values(): MapIterator<SaltValue> {
    for (const at of this.shape.index.values()) yield this.#at(at);
  }

  override *entries(): MapIterator<[SaltValue, SaltValue]> {
    for (const [key, at] of this.shape.index) yield [key, this.#at(at)];
  }

  override [Symbol.iterator](): MapIterator<[SaltValue, SaltValue]> {
    return this.entries();
  }

  override forEach(
    run: (value: SaltValue, key: SaltValue, map: Map<SaltValue, SaltValue>) => void,
  ): void {
    for (const [key, value] of this.entries()) run(value, key, this);
  }

  #at(at: number): SaltValue {
    const kept = this.kept[at] as Kept;
    return kept.opened === undefined ? this.#values.open(kept) : kept.opened;
  }
}
