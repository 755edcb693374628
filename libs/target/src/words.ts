/** The letters that name a matcher in a compound expression. */
export type Engine = 'G' | 'P' | 'I' | 'J' | 'L' | 'N' | 'S' | 'E' | 'R' | 'T' | 'M';

/** One term of a compound expression; without an engine it is a glob on the id. */
export interface Term {
  readonly engine: Engine | undefined;
  readonly delimiter: string | undefined;
  readonly pattern: string;
}

// Salt: salt/utils/minions.py TARGET_REX.
const DELIMITED = /^([GPIJ])(?:(.))?@(.+)$/su;
const PLAIN = /^([GPIJLNSERTM])@(.+)$/su;

// Long lists are written as `L@…`, one word; this bounds the work of one expression.
const MAX_WORDS = 200_000;

/** The words of an expression; undefined where it is neither text nor a list of words. */
export function splitWords(expression: unknown): string[] | undefined {
  const words =
    typeof expression === 'string'
      ? expression.split(/\s+/).filter((word) => word !== '')
      : Array.isArray(expression)
        ? expression.map(String)
        : undefined;
  return words === undefined || words.length > MAX_WORDS ? undefined : words;
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
