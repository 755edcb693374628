import type { Work } from './work.ts';

/** The letters that name a matcher in a compound expression. */
export type Engine = 'G' | 'P' | 'I' | 'J' | 'L' | 'N' | 'S' | 'E' | 'R' | 'T' | 'M';

/** A term of a compound expression; without an engine it is a glob on the id. */
export interface Term {
  readonly engine: Engine | undefined;
  readonly delimiter: string | undefined;
  readonly pattern: string;
}

// Salt: salt/utils/minions.py TARGET_REX.
const DELIMITED = /^([GPIJ])(?:(.))?@(.+)$/su;
const PLAIN = /^([GPIJLNSERTM])@(.+)$/su;

// The work of reading a word, in steps. A long list, written as `L@…`, is one word.
const STEPS_PER_WORD = 20;

/**
 * The words of an expression; undefined if it is neither text nor a list of words.
 * @throws WorkError
 */
export function splitWords(expression: unknown, work: Work): string[] | undefined {
  work.spend(typeof expression === 'string' ? expression.length >> 2 : 0);
  const words =
    typeof expression === 'string'
      ? expression.split(/\s+/).filter((word) => word !== '')
      : Array.isArray(expression)
        ? expression.map(plainText)
        : undefined;
  work.spend(STEPS_PER_WORD * (words?.length ?? 0));
  return words;
}

/** A word or an id as text; empty for lists and maps, whose text could be of any length. */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  const isPlain =
    typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean';
  return isPlain ? String(value) : '';
}

/** Reads one word that is no operator. */
export function parseTerm(word: string): Term {
  const delimited = DELIMITED.exec(word);
  if (delimited !== null) {
    const [, engine, delimiter, pattern = ''] = delimited;
    return { engine: engine as Engine, delimiter, pattern };
  }
  const plain = PLAIN.exec(word);
  if (plain === null) return { engine: undefined, delimiter: undefined, pattern: word };
  return { engine: plain[1] as Engine, delimiter: undefined, pattern: plain[2] ?? '' };
}
