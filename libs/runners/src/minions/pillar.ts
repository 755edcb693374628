import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import { printProgress } from '../progress.ts';
import { meantMinions } from './meant.ts';
import { readAll } from './read-banks.ts';

/** The parameters of a pillar: the arguments of `pillar.show_…` (salt/runners/pillar.py). */
async function asked(
  { named, kwargs }: BoundArguments,
  master: RunnerMaster,
  otherwise: SaltMap,
): Promise<SaltMap> {
  const minion = named.get('minion') ?? null;
  const id = minion === null ? '' : pyStr(minion);
  const grains: SaltMap = new Map((await grainsOf(master, id)) ?? otherwise);
  for (const [key, value] of kwargs) {
    if (key !== 'saltenv' && key !== 'pillarenv') grains.set(key, value);
  }
  const saltenv = named.get('saltenv') ?? kwargs.get('saltenv') ?? 'base';
  const pillarenv = kwargs.get('pillarenv') ?? null;
  return mapOf({ id, grains, saltenv, pillarenv, override: mapOf({}), ext: null });
}

/**
 * The grains that a minion sent, empty for an unknown one; without an id those of the first minion
 * that sent some. Undefined if no minion is known, or this master stores no grains (Salt:
 * get_minion_data).
 */
async function grainsOf(master: RunnerMaster, id: string): Promise<SaltMap | undefined> {
  if (!isTruthy(master.option('minion_data_cache'))) return undefined;
  const first = id === '' ? (await master.banks.ids('grains'))[0] : id;
  if (first === undefined) return undefined;
  return (await master.minionData.fetch(first))?.grains ?? mapOf({});
}

function pillars({ pillars: found }: RunnerMaster) {
  if (found === undefined) throw new Error('this master makes no pillars');
  return found;
}

const showPillar: RunnerFunction = {
  name: 'pillar.show_pillar',
  parameters: [['minion', '*']],
  open: 'kwargs',
  doc:
    'Makes and shows the pillar of a minion (default *: what all get). saltenv and pillarenv ' +
    'name environments; other keywords are grains.',
  async run(given, context) {
    const master = masterOf(context);
    const named = mapOf({ fqdn: given.named.get('minion') ?? null });
    return { value: await pillars(master).render(await asked(given, master, named)) };
  },
};

const showTop: RunnerFunction = {
  name: 'pillar.show_top',
  parameters: [
    ['minion', null],
    ['saltenv', 'base'],
  ],
  doc:
    'Shows the top file of the pillar as it is for a minion; without one, with the grains of the ' +
    'first minion that is known. saltenv: the environment (default base).',
  async run(given, context) {
    const master = masterOf(context);
    const top = await master.pillarTop(await asked(given, master, mapOf({})));
    // Faults of the file are a list, which Salt also shows as progress.
    if (Array.isArray(top)) await printProgress(context, mapOf({ data: top, outputter: 'nested' }));
    return { value: top };
  },
};

/** True if this master stores pillars. */
function keepsPillars(master: RunnerMaster): boolean {
  return isTruthy(master.option('pillar_cache')) || isTruthy(master.option('minion_data_cache'));
}

/** The minions of the argument `minion`, a glob, and the requested environment. */
async function keptOf({ named, kwargs }: BoundArguments, master: RunnerMaster) {
  const target = new Map<string, SaltValue>([['tgt', named.get('minion') ?? null]]);
  const env = kwargs.get('pillarenv') ?? null;
  const ids = await meantMinions(master, { named: target });
  return { ids, env: env === null ? undefined : pyStr(env) };
}

const KEPT =
  'minion is a glob (default *); pillarenv names an environment that pillars were made for. ' +
  'False where neither pillar_cache nor minion_data_cache is on.';

const clearPillarCache: RunnerFunction = {
  name: 'pillar.clear_pillar_cache',
  parameters: [['minion', '*']],
  open: 'kwargs',
  doc: `Forgets the pillars that were kept of minions. ${KEPT}`,
  async run(given, context) {
    const master = masterOf(context);
    if (!keepsPillars(master)) return { value: false };
    const { ids, env } = await keptOf(given, master);
    await master.banks.drop('pillar', ids, env);
    return { value: true };
  },
};

const showPillarCache: RunnerFunction = {
  name: 'pillar.show_pillar_cache',
  parameters: [['minion', '*']],
  open: 'kwargs',
  doc: `Shows the pillars that were kept of minions. ${KEPT}`,
  async run(given, context) {
    const master = masterOf(context);
    if (!keepsPillars(master)) return { value: false };
    const { ids, env } = await keptOf(given, master);
    return { value: await readAll(master.banks, 'pillar', ids, { env }) };
  },
};

/** `pillar.*` of `salt-run`. */
export const PILLAR_RUNNER: readonly RunnerFunction[] = [
  clearPillarCache,
  showPillar,
  showPillarCache,
  showTop,
];
