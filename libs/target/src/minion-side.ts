import { compoundOnMinion } from './compound-minion.ts';
import { matchGlob } from './glob.ts';
import { compileIpcidr } from './ipcidr.ts';
import { inList, matchPath } from './minion-terms.ts';
import { RegexError } from './python-regex/ast.ts';
import { compilePythonRegex } from './python-regex/compile.ts';
import type { MinionFacts, Target } from './target.ts';
import { TargetError } from './target.ts';
import { Work, WorkError } from './work.ts';

/**
 * True if a publication with this target is for this minion (Salt: salt/matchers/*). These match no
 * minion: an unknown type, a broken expression, too much work, a nodegroup (the client expands
 * those) and `compound_pillar_exact` (only masters use it). Never throws.
 */
export function matchMinion(target: Target, me: MinionFacts): boolean {
  try {
    return matchByType(target, me);
  } catch (error) {
    const unfit = error instanceof RegexError || error instanceof TargetError;
    if (unfit || error instanceof WorkError) return false;
    throw error;
  }
}

function matchByType({ tgt, tgtType = 'glob', delimiter }: Target, me: MinionFacts): boolean {
  switch (tgtType) {
    case 'glob':
      return typeof tgt === 'string' && matchGlob(tgt, me.id);
    case 'list':
      return inList(tgt, me.id);
    case 'pcre':
      return typeof tgt === 'string' && compilePythonRegex(tgt)(me.id);
    // Salt's minions read a delimiter for these three types only (salt/minion.py).
    case 'grain':
      return matchPath(tgt, me.grains, 'glob', { delimiter });
    case 'grain_pcre':
      return matchPath(tgt, me.grains, 'regex', { delimiter });
    case 'pillar':
      return matchPath(tgt, me.pillar, 'glob', { delimiter });
    case 'pillar_pcre':
      return matchPath(tgt, me.pillar, 'regex');
    case 'pillar_exact':
      return matchPath(tgt, me.pillar, 'exact');
    case 'ipcidr':
      return (
        typeof tgt === 'string' && (compileIpcidr(tgt)?.(me.grains, Work.ofTarget(1)) ?? false)
      );
    case 'compound':
      return compoundOnMinion(tgt, me);
    default:
      return false;
  }
}
