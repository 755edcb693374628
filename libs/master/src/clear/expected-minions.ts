import { type Acl, mayPublish } from '@brine/acl';
import {
  checkMinions,
  dataNeeded,
  type PillarTerms,
  pillarTerms,
  type Target,
  type TargetView,
} from '@brine/target';
import { type SaltValue, textOf } from '@brine/wire';
import type { PublishRequest } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';

/** The minions that the master expects to return, and the unknown ids of a list. */
export interface Expected {
  readonly minions: string[];
  readonly missing: string[];
}

/** A target as a caller names it. */
type AskedTarget = Pick<PublishRequest, 'tgt' | 'tgtType' | 'kwargs'>;

/**
 * The minions that the master expects to return (salt/utils/minions.py CkMinions.check_minions).
 * They do not limit the job: each minion judges the target itself.
 */
export async function expectedMinions(ports: MasterPorts, asked: AskedTarget): Promise<Expected> {
  return checkMinions(targetOf(asked), await targetView(ports, asked.tgtType, asked.tgt));
}

/**
 * The minions that a target could match with any pillars; only the `spared` terms are judged by
 * real pillars. Without a spared term no pillar is read, so neither the answer nor its time depends
 * on one.
 */
async function couldMean(
  ports: MasterPorts,
  asked: AskedTarget,
  spared: ReadonlySet<string>,
): Promise<readonly string[]> {
  const view = await targetView(ports, asked.tgtType, asked.tgt, spared);
  return checkMinions(targetOf(asked), view).minions;
}

function targetOf({ tgt, tgtType, kwargs }: AskedTarget): Target {
  const delimiter = kwargs && textOf(kwargs, 'delimiter');
  return { tgt, tgtType, ...(delimiter === undefined ? {} : { delimiter }) };
}

/** The terms of a target that depend on a pillar. */
export function pillarTermsOf(
  { rules }: Pick<MasterPorts, 'rules'>,
  asked: AskedTarget,
): PillarTerms {
  return pillarTerms(targetOf(asked), rules.nodegroups);
}

/** Loads the data for judging a target, and no other data of minions. */
export async function targetView(
  ports: MasterPorts,
  tgtType: string,
  tgt: SaltValue,
  whateverPillars?: ReadonlySet<string>,
): Promise<TargetView> {
  const { rules, minionData, keys, pillars } = ports;
  const { nodegroups, cachelessTargets: cacheless, minionDataCache: dataCache } = rules;
  const needed = dataCache ? dataNeeded({ tgt, tgtType }, nodegroups) : 'nothing';
  const open = whateverPillars?.size === 0;
  const byPillar = needed === 'grains and pillar' && !open;
  if (byPillar) await pillars?.ready();
  if (needed !== 'nothing') await minionData.ready();
  return {
    accepted: keys.accepted(),
    grains: (id) => (needed === 'nothing' ? undefined : minionData.grains(id)),
    pillar: (id) => (byPillar ? pillars?.of(id) : undefined),
    nodegroups,
    cacheless,
    dataCache,
    ...(whateverPillars === undefined ? {} : { whateverPillars }),
  };
}

/**
 * The minions that each target in a list of rights surely matches. A minion without known data is
 * not included, whatever `cacheless_targets` and `minion_data_cache` are for jobs.
 */
export async function surelyMeant(
  ports: MasterPorts,
  acl: Acl,
): Promise<(target: string) => ReadonlySet<string>> {
  const tgtType = 'compound';
  const views = new Map<string, TargetView>();
  for (const entry of acl) {
    if (entry.kind !== 'on') continue;
    views.set(entry.target, await targetView(ports, tgtType, entry.target));
  }
  return (tgt) => {
    const view = views.get(tgt);
    if (view === undefined) return new Set();
    const known = { ...view, cacheless: 'drop', dataCache: true } as const;
    return new Set(checkMinions({ tgt, tgtType }, known).minions);
  };
}

/**
 * Needs no right: a CLI uses it to see whether a job still runs (salt/master.py
 * ClearFuncs.publish).
 */
const ALWAYS: ReadonlySet<string> = new Set(['saltutil.find_job']);

/**
 * Limits of the terms of a target, and of the characters of each: each is compared with every
 * minion.
 */
const WORDS_MAX = 1_000;
const TEXT_MAX = 1_048_576;
/** Limit of nodegroups in a target; each may be long. */
const GROUPS_MAX = 50;

const NONE: ReadonlySet<string> = new Set();

/**
 * The expected minions of a job that a list of rights covers; undefined if it does not. For every
 * caller but the master's own user: users, tokens, minions, and the runners that they call.
 *
 * A target on pillar values could reveal such a value. So it must name one exact value (Salt:
 * `pillar_exact`), and the rights must cover every minion that it could match: the answer is then
 * the same for a right and a wrong guess. Terms in the caller's own rights are free. The cheapest
 * checks come first.
 *
 * @param always functions that need no right
 */
export async function expectedWithin(
  ports: MasterPorts,
  acl: Acl,
  asked: Pick<PublishRequest, 'fun' | 'arg'> & AskedTarget,
  always: ReadonlySet<string> = ALWAYS,
): Promise<Expected | undefined> {
  const nowhere = { minions: [], beyond: false, matching: () => NONE };
  if (!mayPublish(acl, asked, nowhere, always)) return undefined;
  if (!isBounded(asked)) {
    ports.count('target_too_large');
    return undefined;
  }
  const { terms, inexact } = pillarTermsOf(ports, asked);
  if (terms.length === 0) {
    const expected = await expectedMinions(ports, asked);
    return (await coversJob(ports, acl, asked, expected.minions, always)) ? expected : undefined;
  }
  const own = ownTerms(ports, acl);
  if (inexact.some((term) => !own.has(term))) {
    ports.count('target_guesses_pillars');
    return undefined;
  }
  const spared = new Set(terms.filter((term) => own.has(term)));
  const minions = await couldMean(ports, asked, spared);
  // Functions that need no right still need one to use pillars in the target.
  if (!(await coversJob(ports, acl, asked, minions, NONE))) return undefined;
  return expectedMinions(ports, asked);
}

/** The pillar terms in the rights themselves. */
function ownTerms(ports: MasterPorts, acl: Acl): ReadonlySet<string> {
  return new Set(
    acl.flatMap((entry) =>
      entry.kind === 'on'
        ? pillarTermsOf(ports, { tgt: entry.target, tgtType: 'compound' }).terms
        : [],
    ),
  );
}

function isBounded({ tgt, tgtType }: AskedTarget): boolean {
  const texts = typeof tgt === 'string' ? [tgt] : tgt;
  if (texts.some((text) => text.length > TEXT_MAX)) return false;
  // Each id of a list is looked up once.
  if (typeof tgt !== 'string' && !tgtType.toLowerCase().startsWith('compound')) return true;
  const words = texts.flatMap((text) => text.split(/\s+/, WORDS_MAX + 1));
  return words.length <= WORDS_MAX && words.filter((word) => /^N@/.test(word)).length <= GROUPS_MAX;
}

/** True if a list of rights covers a job for these minions. */
export async function coversJob(
  ports: MasterPorts,
  acl: Acl,
  asked: Pick<PublishRequest, 'fun' | 'arg'>,
  minions: readonly string[],
  always: ReadonlySet<string> = ALWAYS,
): Promise<boolean> {
  const matching = await surelyMeant(ports, acl);
  return mayPublish(acl, asked, { minions, beyond: ports.rules.orderMasters, matching }, always);
}
