import { getFromMine } from '@brine/master/functions';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { masterOf, type RunnerFunction } from '../function.ts';
import { targetOf } from './meant.ts';
import { returnsOf } from './run-on-minions.ts';

const get: RunnerFunction = {
  name: 'mine.get',
  parameters: [['tgt'], ['fun'], ['tgt_type', 'glob']],
  doc:
    'Shows what minions put into the mine for fun: one function, several with commas, or a list; ' +
    'several are shown by function. tgt and tgt_type (default glob) select the minions; ' +
    'pillars match only by exact values. Rights of the mine are those of the id of the master.',
  async run({ named }, context) {
    const master = masterOf(context);
    const [tgt, fun] = [targetOf(named.get('tgt')), named.get('fun') ?? null];
    const load = mapOf({ tgt, fun, tgt_type: pyStr(named.get('tgt_type') ?? 'glob') });
    return { value: await getFromMine(master, master.rules.masterMinionId, load) };
  },
};

const update: RunnerFunction = {
  name: 'mine.update',
  parameters: [['tgt'], ['tgt_type', 'glob'], ['clear', false], ['mine_functions', null]],
  doc:
    'Has minions put values into the mine again, and shows what they answer. tgt and tgt_type ' +
    '(default glob) select the minions. clear=True forgets the old values first; mine_functions ' +
    'names the functions. Both are handed on to mine.update of the minions.',
  async run({ named }, context) {
    const kwargs: SaltMap = new Map();
    if (isTruthy(named.get('clear'))) kwargs.set('clear', named.get('clear') ?? null);
    const functions = named.get('mine_functions') ?? null;
    if (functions !== null) kwargs.set('mine_functions', functions);
    const command = {
      tgt: targetOf(named.get('tgt')),
      tgtType: pyStr(named.get('tgt_type') ?? 'glob'),
      fun: 'mine.update',
      // A caller may choose the functions that run on the minions.
      isOwn: functions === null,
      arg:
        kwargs.size === 0 ? [] : [new Map<SaltValue, SaltValue>([['__kwarg__', true], ...kwargs])],
    };
    return { value: await returnsOf(context, command) };
  },
};

/** The mine, to show and to update. */
export const MINE_RUNNER: readonly RunnerFunction[] = [get, update];
