import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type {
  BoundArguments,
  RunnerContext,
  RunnerFunction,
  RunnerMaster,
} from './runner-function.ts';

/** What a pillar is asked for: the arguments of `pillar.show_…` (salt/runners/pillar.py). */
async function asked(
  { args, kwargs }: BoundArguments,
  master: RunnerMaster,
  otherwise: SaltValue,
): Promise<SaltMap> {
  const minion = args[0] ?? kwargs.get('minion') ?? otherwise;
  const id = typeof minion === 'string' ? minion : '';
  const grains: SaltMap = new Map((await master.grains(id)) ?? [['fqdn', id]]);
  for (const [key, value] of kwargs) {
    if (key !== 'saltenv' && key !== 'pillarenv' && key !== 'minion') grains.set(key, value);
  }
  const saltenv = kwargs.get('saltenv') ?? args[1] ?? 'base';
  const pillarenv = kwargs.get('pillarenv') ?? null;
  return mapOf({ id, grains, saltenv, pillarenv, override: mapOf({}), ext: null });
}

function masterOf({ master }: RunnerContext): RunnerMaster {
  if (master === undefined) throw new Error('this function runs in the master only');
  return master;
}

const showPillar: RunnerFunction = {
  name: 'pillar.show_pillar',
  parameters: [],
  open: true,
  inMaster: true,
  doc: 'Compiles and shows the pillar of a minion: show_pillar [id] [saltenv=…] [pillarenv=…].',
  async run(given, context) {
    const master = masterOf(context);
    return { value: await master.pillar(await asked(given, master, '*')) };
  },
};

const showTop: RunnerFunction = {
  name: 'pillar.show_top',
  parameters: [],
  open: true,
  inMaster: true,
  doc: 'Shows the top file of the pillar, as it renders for a minion: pillar.show_top [id].',
  async run(given, context) {
    const master = masterOf(context);
    return { value: await master.pillarTop(await asked(given, master, null)) };
  },
};

/** `pillar.*` of `salt-run`. */
export const PILLAR_RUNNER: readonly RunnerFunction[] = [showPillar, showTop];
