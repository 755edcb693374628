import type { CharSet } from './char-set.ts';
import { widthIn } from './places.ts';
import type { Program, Run } from './program.ts';
import { OP } from './program.ts';

const NEWLINE = 10;

/** How a text is searched. */
export interface SearchOptions {
  readonly from: number;
  /** The match must begin at `from`. */
  readonly anchored: boolean;
  /** Forbids an empty match at `from`, since it was found already. */
  readonly advance: boolean;
  /** Steps of the search at most. */
  readonly limit: number;
}

/** The first place at or after `from` where a program can begin; without one, past the end. */
export function nextStart(program: Program, text: string, from: number): number {
  const { ops, a } = program;
  let pc = 0;
  while (ops[pc] === OP.save) pc += 1;
  const x = a[pc] as number;
  switch (ops[pc]) {
    case OP.char: {
      const found = text.indexOf(String.fromCharCode(x), from);
      return found < 0 ? text.length + 1 : found;
    }
    case OP.set:
      return nextOf(program.sets[x] as CharSet, text, from);
    case OP.run: {
      const { set, min } = program.runs[x] as Run;
      return min === 0 ? from : nextOf(set, text, from);
    }
    case OP.at:
      if (program.places[x] === 'start') return from === 0 ? 0 : text.length + 1;
      return program.places[x] === 'line-start' ? nextLine(text, from) : from;
    default:
      return from;
  }
}

function nextOf(set: CharSet, text: string, from: number): number {
  let at = from;
  while (at < text.length && widthIn(set, text, at) === 0) at = after(text, at);
  return at < text.length ? at : text.length + 1;
}

function nextLine(text: string, from: number): number {
  if (from === 0 || text.charCodeAt(from - 1) === NEWLINE) return from;
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length + 1 : end + 1;
}

/** The start of the character after this place. */
export function after(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}
