import type { BankName } from '@brine/master';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import { meantMinions } from './meant.ts';
import { readAll } from './read-banks.ts';

const TARGETS = 'tgt and tgt_type (default glob) select the minions';
const TGT_TYPE = ['tgt_type', 'glob'] as const;

/** Reports keywords that Salt accepts and ignores. */
function refuseUnused({ kwargs }: BoundArguments, { out }: RunnerContext): void {
  if (kwargs.size > 0) out(`${[...kwargs.keys()].map(pyStr).join(', ')}: without effect here\n`);
}

/** `cache.grains`, `cache.pillar`, `cache.mine`: the stored data of a target's minions. */
function reading(bank: BankName, needsTarget: boolean, doc: string): RunnerFunction {
  return {
    name: `cache.${bank}`,
    parameters: [needsTarget ? ['tgt'] : ['tgt', null], TGT_TYPE],
    open: 'kwargs',
    doc,
    async run(given, context) {
      const master = masterOf(context);
      refuseUnused(given, context);
      const nothing = (): SaltMap => mapOf({});
      if (!needsTarget && !isTruthy(given.named.get('tgt'))) {
        // Without a target Salt shows all minions with grains.
        const all = await master.banks.ids('grains');
        const otherwise = bank === 'pillar' ? undefined : nothing;
        return { value: await readAll(master.banks, bank, all, { otherwise }) };
      }
      const ids = await meantMinions(master, given);
      if (!master.rules.minionDataCache && bank !== 'mine') {
        return { value: new Map<SaltValue, SaltValue>(ids.map((id) => [id, nothing()])) };
      }
      return { value: await readAll(master.banks, bank, ids, { otherwise: nothing }) };
    },
  };
}

/** `cache.clear_…`: empties banks of a target's minions; False without a target. */
function clearing(name: string, banks: readonly BankName[], what: string): RunnerFunction {
  return {
    name,
    parameters: [['tgt', null], TGT_TYPE],
    doc: `Forgets ${what} of minions: ${TARGETS}. Minions send them again. False without tgt.`,
    async run(given, context) {
      if ((given.named.get('tgt') ?? null) === null) return { value: false };
      const master = masterOf(context);
      const ids = await meantMinions(master, given);
      for (const bank of banks) await master.banks.drop(bank, ids);
      return { value: true };
    },
  };
}

const clearMineFunction: RunnerFunction = {
  name: 'cache.clear_mine_func',
  parameters: [['tgt', null], TGT_TYPE, ['clear_mine_func_flag', null]],
  doc:
    'Forgets what one function, clear_mine_func_flag, put into the mine of minions: ' +
    `${TARGETS}. False without tgt or without a function.`,
  async run(given, context) {
    const fun = given.named.get('clear_mine_func_flag') ?? null;
    if ((given.named.get('tgt') ?? null) === null || fun === null) return { value: false };
    const master = masterOf(context);
    for (const id of await meantMinions(master, given)) await forgetFunction(master, id, fun);
    return { value: true };
  },
};

async function forgetFunction(master: RunnerMaster, id: string, fun: SaltValue): Promise<void> {
  if ((await master.mines.fetch(id))?.has(fun) !== true) return;
  await master.mines.change(id, (now) => {
    const rest = new Map(now);
    rest.delete(fun);
    return rest;
  });
}

/** The stored data of minions, to show and to delete. */
export const CACHE_RUNNER: readonly RunnerFunction[] = [
  reading('grains', true, `Shows the grains that minions sent last: ${TARGETS}.`),
  reading('pillar', false, `Shows the pillars that minions got last: ${TARGETS}, or all.`),
  reading('mine', false, `Shows what minions put into the mine: ${TARGETS}, or all.`),
  clearing('cache.clear_grains', ['grains'], 'the grains'),
  clearing('cache.clear_pillar', ['pillar'], 'the kept pillars'),
  clearing('cache.clear_mine', ['mine'], 'the mine'),
  clearing('cache.clear_all', ['pillar', 'grains', 'mine'], 'pillars, grains and mine'),
  clearMineFunction,
];
