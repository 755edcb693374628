import type { Nodegroups } from './nodegroups.ts';
import { expandNodegroup, OPERATORS } from './nodegroups.ts';
import { DEFAULT_DELIMITER } from './subdict.ts';
import type { Target } from './target.ts';
import { parseTerm, plainText, splitWords } from './words.ts';
import { Work } from './work.ts';

/** The terms of a target about pillars. */
export interface PillarTerms {
  /** Each term in one form, however it was written. */
  readonly terms: readonly string[];
  /** Terms that could match more than one value. */
  readonly inexact: readonly string[];
}

const NONE: PillarTerms = { terms: [], inexact: [] };

/** Wildcards of a term: `*` also where values are compared exactly. */
const WILD = /[*?[]/;

/** The target types that are one pillar term, as engines of a compound. */
const ENGINE_BY_TYPE: Readonly<Record<string, 'I' | 'J'>> = {
  pillar: 'I',
  pillar_exact: 'I',
  pillar_pcre: 'J',
};

/**
 * The terms of a target about pillars: of every type and depth, also in nodegroups. This table
 * alone decides whether a caller could guess at pillars with a target. Upper and lower case are the
 * same, since Salt lowers some types.
 * @throws WorkError
 */
export function pillarTerms(target: Target, nodegroups: Nodegroups): PillarTerms {
  const { tgt, tgtType = 'glob', delimiter } = target;
  const work = Work.ofTarget(1);
  const type = tgtType.toLowerCase();
  const engine = Object.hasOwn(ENGINE_BY_TYPE, type) ? ENGINE_BY_TYPE[type] : undefined;
  if (engine !== undefined) {
    const texts = Array.isArray(tgt) ? tgt.map(plainText) : [plainText(tgt)];
    return together(texts.map((text) => termOf(engine, delimiter, text)));
  }
  switch (type) {
    case 'compound':
    case 'compound_pillar_exact':
      return ofWords(splitWords(tgt, work) ?? [], nodegroups, work);
    case 'nodegroup':
      return ofWords(expandNodegroup(plainText(tgt), nodegroups, work), nodegroups, work);
    default:
      return NONE;
  }
}

/** The form of a term in {@link PillarTerms}. */
export function pillarTerm(
  engine: 'I' | 'J',
  delimiter: string | undefined,
  pattern: string,
): string {
  return `${engine}${delimiter ?? DEFAULT_DELIMITER}@${pattern}`;
}

function termOf(engine: 'I' | 'J', delimiter: string | undefined, pattern: string): PillarTerms {
  const term = pillarTerm(engine, delimiter, pattern);
  return { terms: [term], inexact: engine === 'J' || WILD.test(pattern) ? [term] : [] };
}

function ofWords(words: readonly string[], nodegroups: Nodegroups, work: Work): PillarTerms {
  return together(
    words.map((word) => {
      if (OPERATORS.has(word)) return NONE;
      const { engine, delimiter, pattern } = parseTerm(word);
      if (engine === 'I' || engine === 'J') return termOf(engine, delimiter, pattern);
      // The words include nested groups already.
      if (engine === 'N') return ofWords(expandNodegroup(pattern, nodegroups, work), {}, work);
      return NONE;
    }),
  );
}

function together(found: readonly PillarTerms[]): PillarTerms {
  return {
    terms: found.flatMap(({ terms }) => terms),
    inexact: found.flatMap(({ inexact }) => inexact),
  };
}
