import { isMinionId } from '@brine/job';
import { knownMinions } from '@brine/master/functions';
import { WorkError } from '@brine/target';
import { mapOf } from '@brine/wire';
import { masterOf, type RunnerFunction } from '../function.ts';

const compoundMatches: RunnerFunction = {
  name: 'match.compound_matches',
  parameters: [['expr'], ['minion_id']],
  doc:
    'Tests whether the compound target expr surely matches a minion: {"res": minion_id}, or ' +
    'False. A minion without known data does not match. Pillars match by exact values only.',
  async run({ named }, context) {
    const master = masterOf(context);
    const [expr, id] = [named.get('expr') ?? '', named.get('minion_id')];
    if (!master.rules.minionDataCache || !isMinionId(id)) return { value: mapOf({ res: false }) };
    try {
      const meant = await knownMinions(master, expr, 'compound_pillar_exact');
      return { value: mapOf({ res: meant.includes(id) ? id : false }) };
    } catch (error) {
      // An expression that takes too much work matches no minion, as in Salt.
      if (error instanceof WorkError) return { value: mapOf({ res: false }) };
      throw error;
    }
  },
};

export const MATCH_RUNNER: readonly RunnerFunction[] = [compoundMatches];
