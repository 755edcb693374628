import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientInterface, type MasterOptions } from '@brine/config';
import { Swarm } from '@brine/swarm';
import { Injector } from '../inject.ts';
import { Installation } from '../installation.ts';
import { BEHAVIOURS } from '../load.ts';
import { type FaultKind, makePlan, type Plan } from '../plan.ts';
import { StoredProbes } from '../recovery.ts';
import { type ChaosReport, runChaos } from '../run-chaos.ts';

/** Faults that need no proxy: they work on a master that this run did not start. */
export const STAGING_KINDS = ['kill', 'stop'] as const satisfies readonly FaultKind[];

/** Ids of the simulated minions: jobs of a run are for them alone. */
export const CHAOS_PREFIX = 'chaos-';

/** They tell nothing of the master: few are enough, and none has to be made for long. */
const KEY_PAIRS = 16;

/** What a run on an existing installation needs. */
export interface StagingOptions {
  readonly options: MasterOptions;
  readonly faults: number;
  readonly seed: number;
  readonly kinds: readonly FaultKind[];
  readonly minions: number;
  /** Jobs per second. */
  readonly jobs: number;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Thrown where there is nothing to do faults to; the message is for the user. */
export class NoInstallation extends Error {
  override readonly name = 'NoInstallation';
}

/** What a run on this host would do; throws {@link NoInstallation} where no master runs on it. */
export function planForStaging(staging: Omit<StagingOptions, 'tell' | 'signal'>): Plan {
  const { options, faults, seed, kinds } = staging;
  const installation = new Installation(options);
  if (installation.supervisor() === undefined) {
    throw new NoInstallation(`no \`brine master\` runs on this host (${options.brine.stateDir})`);
  }
  const possible = kinds.filter((kind) => STAGING_KINDS.some((one) => one === kind));
  if (possible.length === 0) {
    throw new NoInstallation(`only these faults are possible here: ${STAGING_KINDS.join(', ')}`);
  }
  return makePlan(faults, seed, {
    kinds: possible,
    victims: installation.victims(),
    links: [],
    disks: [],
    wires: [],
  });
}

/**
 * Does random faults to the master that runs on this host, under a load of simulated minions, and
 * checks its ledger. The keys of the minions are written to its `pki_dir` and stay there.
 * Throws {@link NoInstallation}.
 */
export async function runOnStaging(staging: StagingOptions): Promise<ChaosReport> {
  const { options, minions, jobs, tell, signal } = staging;
  const plan = planForStaging(staging);
  const installation = new Installation(options);
  const dir = await mkdtemp(join(tmpdir(), 'brine-chaos-'));
  await writeFile(join(dir, 'plan.json'), `${JSON.stringify(plan, null, 2)}\n`);
  const log = join(dir, 'ledger.jsonl');
  const after = await lastJid(installation);
  const swarm = await Swarm.start({
    host: clientInterface(options),
    retPort: options.retPort,
    minions,
    idPrefix: CHAOS_PREFIX,
    pkiDir: options.pkiDir,
    keyPairs: KEY_PAIRS,
    behaviours: BEHAVIOURS,
    log,
    onProgress: tell,
  });
  const injector = new Injector(installation);
  let report: ChaosReport | undefined;
  try {
    await swarm.connect();
    report = await runChaos({
      plan,
      installation,
      injector,
      fleet: { swarm, minions, prefix: CHAOS_PREFIX, cachedir: options.cachedir },
      rates: { jobs, returns: 1, logIns: 1 },
      log,
      endFleet: () => swarm.close(),
      after,
      // Its deadline is the operator's, an hour as a rule.
      untilClosed: false,
      tell,
      signal,
    });
    await writeFile(join(dir, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    return report;
  } finally {
    await injector.mendAll();
    await swarm.close();
    if (report?.ok === true) await rm(dir, { recursive: true });
    else tell(`kept: ${dir} (plan, log, report)`);
  }
}

/** Older jobs are not of this run. */
async function lastJid(installation: Installation): Promise<string> {
  const stored = new StoredProbes(() => installation.databaseUrl());
  try {
    const last = await stored.lastJid();
    if (last === undefined) throw new NoInstallation('the database of the master does not answer');
    return last;
  } finally {
    await stored.close();
  }
}
