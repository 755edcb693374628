import type { Program } from './program.ts';
import type { Stack } from './stack.ts';

/** The failures of a search: a bit for each instruction at each place of a text. */
export interface Memory {
  /** Places of the text, including its end. */
  readonly width: number;
  readonly bits: Uint32Array;
}

/** Makes an empty memory, whose size counts as steps too. */
export function newMemory(program: Program, width: number, stack: Stack): Memory {
  const words = Math.ceil((width * program.ops.length) / 32);
  stack.count(words);
  return { width, bits: new Uint32Array(words) };
}

/** Remembers an instruction at a place; true if it was known already. */
export function isKnown(memory: Memory | undefined, pc: number, at: number): boolean {
  if (memory === undefined) return false;
  const state = pc * memory.width + at;
  const word = state >>> 5;
  const bit = 1 << (state & 31);
  const known = memory.bits[word] as number;
  memory.bits[word] = known | bit;
  return (known & bit) !== 0;
}
