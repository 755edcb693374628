/** Where a search failed already: a bit for each instruction at each place of a text. */
export interface Memory {
  /** Places of the text, its end among them. */
  readonly width: number;
  readonly bits: Uint32Array;
}

/** Remembers an instruction at a place; true where it was known. */
export function isKnown(memory: Memory | undefined, pc: number, at: number): boolean {
  if (memory === undefined) return false;
  const state = pc * memory.width + at;
  const word = state >>> 5;
  const bit = 1 << (state & 31);
  const known = memory.bits[word] as number;
  memory.bits[word] = known | bit;
  return (known & bit) !== 0;
}
