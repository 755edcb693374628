/** Bounds for reading untrusted bytes; exceeding one is a WireError, never a crash. */
export interface UnpackLimits {
  /** Bytes of the whole message. */
  readonly maxBytes?: number;
  /** Nesting of lists and maps. */
  readonly maxDepth?: number;
  /** Memory to spend on values, in cells of about 8 bytes (see the COST constants). */
  readonly maxCost?: number;
}

/** 128 MiB: above the 100 MiB that a request may have, so that bus envelopes around one fit too. */
export const DEFAULT_MAX_BYTES = 128 * 1024 * 1024;

/**
 * Python's unpacker stops at 1024 and Salt's own recursive passes near 990; no real load has 100.
 */
export const DEFAULT_MAX_DEPTH = 512;

/** 16 Mi cells, some 250 MB of heap at worst (measured); a list of two million texts still fits. */
export const DEFAULT_MAX_COST = 16 * 1024 * 1024;

/** Cells of a number, boolean or null. */
export const COST_SCALAR = 1;
/** Cells of a boxed number. */
export const COST_BOXED = 4;
/** Cells of a text or a byte view, beside its content, which is bounded by the message. */
export const COST_TEXT = 8;
/** Cells of an (empty) list. */
export const COST_LIST = 4;
/** Cells of an (empty) map or an extension: a JavaScript Map takes some 200 bytes. */
export const COST_OBJECT = 16;

/**
 * True for the type byte of a number. As a key it costs {@link costOfNumberKey}. JavaScript hashes
 * numbers without a seed, so a sender can make all of them collide: each key is then compared with
 * those before.
 */
export function isNumberType(type: number): boolean {
  return type < 0x80 || type >= 0xe0 || (type >= 0xca && type <= 0xd3);
}

/** Cells of a key that is a number, by how many such keys the map has before it. */
const COST_PER_NUMBER_BEFORE = 4;

/** A map has 2,896 of them at most, read in some 10 ms if all collide; honest ones have a few. */
export function costOfNumberKey(before: number): number {
  return COST_PER_NUMBER_BEFORE * before;
}

/** Limits with every field filled in. */
export interface FullLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  readonly maxCost: number;
}

const DEFAULTS: FullLimits = {
  maxBytes: DEFAULT_MAX_BYTES,
  maxDepth: DEFAULT_MAX_DEPTH,
  maxCost: DEFAULT_MAX_COST,
};

/** The given limits over the defaults. */
export function fullLimits(limits: UnpackLimits | undefined): FullLimits {
  return limits === undefined ? DEFAULTS : { ...DEFAULTS, ...limits };
}
