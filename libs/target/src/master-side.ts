import { compoundOnMaster } from './compound-master.ts';
import { checkList, checkText } from './master-terms.ts';
import type { CheckedSets } from './master-terms.ts';
import { expandNodegroup } from './nodegroups.ts';
import { RegexError } from './python-regex/ast.ts';
import { TargetError } from './target.ts';
import type { Target, TargetView } from './target.ts';

/** Whom a master expects to answer. */
export interface CheckedMinions {
  readonly minions: string[];
  /** Ids of a list that have no accepted key. */
  readonly missing: string[];
}

/**
 * The minions that a master expects to answer (Salt: salt/utils/minions.py
 * CkMinions.check_minions). It does not decide who runs the job: each minion judges the target
 * itself. A broken expression expects nobody. Never throws.
 */
export function checkMinions(target: Target, view: TargetView): CheckedMinions {
  try {
    const { minions, missing } = checkByType(target, view);
    return { minions: [...minions], missing: [...new Set(missing)] };
  } catch (error) {
    if (error instanceof RegexError || error instanceof TargetError) {
      return { minions: [], missing: [] };
    }
    throw error;
  }
}

function checkByType({ tgt, tgtType = 'glob', delimiter }: Target, view: TargetView): CheckedSets {
  switch (tgtType) {
    case 'list':
      return checkList(tgt, view);
    case 'glob':
    case 'pcre':
    case 'grain':
    case 'grain_pcre':
    case 'pillar':
    case 'pillar_pcre':
    case 'pillar_exact':
    case 'ipcidr':
      if (typeof tgt !== 'string') throw new TargetError('not text');
      return { minions: checkText(tgtType, tgt, view, delimiter), missing: [] };
    case 'compound':
      return compoundOnMaster(tgt, view, false);
    case 'compound_pillar_exact':
      return compoundOnMaster(tgt, view, true);
    case 'nodegroup':
      return compoundOnMaster(expandNodegroup(String(tgt), view.nodegroups), view, false);
    case 'range':
      return { minions: view.accepted, missing: [] };
    default:
      throw new TargetError(`unknown target type ${tgtType}`);
  }
}
