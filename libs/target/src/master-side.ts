import { compoundOnMaster } from './compound-master.ts';
import type { CheckedSets } from './master-terms.ts';
import { checkList, checkText } from './master-terms.ts';
import { expandNodegroup } from './nodegroups.ts';
import { RegexError } from './python-regex/ast.ts';
import type { Target, TargetView } from './target.ts';
import { TargetError } from './target.ts';
import { plainText } from './words.ts';
import { Work } from './work.ts';

/** The minions that a master expects to answer. */
export interface CheckedMinions {
  readonly minions: string[];
  /** Ids of a list that have no accepted key. */
  readonly missing: string[];
}

/**
 * The minions that a master expects to answer (Salt: salt/utils/minions.py
 * CkMinions.check_minions). It does not decide who runs the job: each minion judges the target
 * itself. A broken expression expects no minion. A single minion with long data is not expected.
 * @throws WorkError for a target that takes too much work
 */
export function checkMinions(
  target: Target,
  view: TargetView,
  work = Work.ofTarget(view.accepted.size),
): CheckedMinions {
  try {
    const { minions, missing } = checkByType(target, view, work);
    return { minions: [...minions], missing: [...new Set(missing)] };
  } catch (error) {
    if (error instanceof RegexError || error instanceof TargetError) {
      return { minions: [], missing: [] };
    }
    throw error;
  }
}

function checkByType(
  { tgt, tgtType = 'glob', delimiter }: Target,
  view: TargetView,
  work: Work,
): CheckedSets {
  switch (tgtType) {
    case 'list':
      return checkList(tgt, view, work);
    case 'glob':
    case 'pcre':
    case 'grain':
    case 'grain_pcre':
    case 'pillar':
    case 'pillar_pcre':
    case 'pillar_exact':
    case 'ipcidr':
      if (typeof tgt !== 'string') throw new TargetError('not text');
      return { minions: checkText(tgtType, tgt, { view, work }, delimiter), missing: [] };
    case 'compound':
      return compoundOnMaster(tgt, view, work, false);
    case 'compound_pillar_exact':
      return compoundOnMaster(tgt, view, work, true);
    case 'nodegroup':
      return compoundOnMaster(
        expandNodegroup(plainText(tgt), view.nodegroups, work),
        view,
        work,
        false,
      );
    case 'range':
      return { minions: view.accepted, missing: [] };
    default:
      throw new TargetError(`unknown target type ${tgtType}`);
  }
}
