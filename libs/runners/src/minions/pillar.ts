import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import {
  type BoundArguments,
  masterOf,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';

/** What a pillar is asked for: the arguments of `pillar.show_…` (salt/runners/pillar.py). */
async function asked(
  { args, kwargs }: BoundArguments,
  master: RunnerMaster,
  otherwise: SaltValue,
): Promise<SaltMap> {
  const minion = args[0] ?? kwargs.get('minion') ?? otherwise;
  const id = typeof minion === 'string' ? minion : '';
  const grains: SaltMap = new Map((await grainsOf(master, id)) ?? [['fqdn', id]]);
  for (const [key, value] of kwargs) {
    if (key !== 'saltenv' && key !== 'pillarenv' && key !== 'minion') grains.set(key, value);
  }
  const saltenv = kwargs.get('saltenv') ?? args[1] ?? 'base';
  const pillarenv = kwargs.get('pillarenv') ?? null;
  return mapOf({ id, grains, saltenv, pillarenv, override: mapOf({}), ext: null });
}

/** The grains that a minion sent; none for no id. */
async function grainsOf(master: RunnerMaster, id: string): Promise<SaltMap | undefined> {
  return id === '' ? undefined : (await master.minionData.fetch(id))?.grains;
}

function pillars({ pillars: found }: RunnerMaster) {
  if (found === undefined) throw new Error('this master makes no pillars');
  return found;
}

const showPillar: RunnerFunction = {
  name: 'pillar.show_pillar',
  parameters: [],
  open: 'any',
  doc: 'Compiles and shows the pillar of a minion: show_pillar [id] [saltenv=…] [pillarenv=…].',
  async run(given, context) {
    const master = masterOf(context);
    return { value: await pillars(master).render(await asked(given, master, '*')) };
  },
};

const showTop: RunnerFunction = {
  name: 'pillar.show_top',
  parameters: [],
  open: 'any',
  doc: 'Shows the top file of the pillar, as it renders for a minion: pillar.show_top [id].',
  async run(given, context) {
    const master = masterOf(context);
    return { value: await master.pillarTop(await asked(given, master, null)) };
  },
};

/** `pillar.*` of `salt-run`. */
export const PILLAR_RUNNER: readonly RunnerFunction[] = [showPillar, showTop];
