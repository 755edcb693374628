import type { Nodegroups } from './nodegroups.ts';
import { expandNodegroup, OPERATORS } from './nodegroups.ts';
import type { Target } from './target.ts';
import type { Engine } from './words.ts';
import { parseTerm, plainText, splitWords } from './words.ts';
import { Work } from './work.ts';

/** The data of its minions that a master needs to judge a target. */
export type DataNeeded = 'nothing' | 'grains' | 'grains and pillar';

const BY_TYPE: Readonly<Record<string, DataNeeded>> = {
  grain: 'grains',
  grain_pcre: 'grains',
  ipcidr: 'grains',
  pillar: 'grains and pillar',
  pillar_pcre: 'grains and pillar',
  pillar_exact: 'grains and pillar',
};
const BY_ENGINE: Readonly<Partial<Record<Engine, DataNeeded>>> = {
  G: 'grains',
  P: 'grains',
  S: 'grains',
  I: 'grains and pillar',
  J: 'grains and pillar',
};

/**
 * The data that {@link checkMinions} will need. Grains and pillars of a whole fleet are too much to
 * load for a target that names ids alone. Nothing for an invalid target.
 * @throws WorkError
 */
export function dataNeeded({ tgt, tgtType = 'glob' }: Target, nodegroups: Nodegroups): DataNeeded {
  const work = Work.ofTarget(1);
  switch (tgtType) {
    case 'compound':
    case 'compound_pillar_exact':
      return ofWords(splitWords(tgt, work) ?? [], nodegroups, work);
    case 'nodegroup':
      return ofWords(expandNodegroup(plainText(tgt), nodegroups, work), nodegroups, work);
    default:
      return (Object.hasOwn(BY_TYPE, tgtType) ? BY_TYPE[tgtType] : undefined) ?? 'nothing';
  }
}

function ofWords(words: readonly string[], nodegroups: Nodegroups, work: Work): DataNeeded {
  let needed: DataNeeded = 'nothing';
  for (const word of words) {
    const one = OPERATORS.has(word) ? 'nothing' : ofWord(word, nodegroups, work);
    if (one === 'grains and pillar') return one;
    if (one === 'grains') needed = one;
  }
  return needed;
}

function ofWord(word: string, nodegroups: Nodegroups, work: Work): DataNeeded {
  const { engine, pattern } = parseTerm(word);
  if (engine === undefined) return 'nothing';
  // The words include nested groups already.
  if (engine === 'N') return ofWords(expandNodegroup(pattern, nodegroups, work), {}, work);
  return BY_ENGINE[engine] ?? 'nothing';
}
