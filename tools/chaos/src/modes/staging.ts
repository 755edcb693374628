import { clientInterface, loadMasterConfig } from '@brine/config';
import { flag, type Given, names, seed, short, text } from '@brine/swarm/options';
import { whole } from '@brine/swarm/options';
import { drawChaos } from '../draw-chaos.ts';
import { Injector } from '../inject.ts';
import { Installation } from '../installation.ts';
import { BEHAVIOURS } from '../load.ts';
import { type FaultKind, makePlan, nameOf, type Plan } from '../plan.ts';
import { StoredProbes } from '../recovery.ts';
import type { Run } from '../run.ts';
import { type ChaosReport, runChaos } from '../run-chaos.ts';
import { PREFIX, startSwarm } from '../swarm.ts';
import { type Mode, modeOf } from './mode.ts';

/** Salt's exit codes (salt/defaults/exitcodes.py): EX_GENERIC, EX_USAGE. */
const EXIT = { failed: 1, usage: 64 } as const;

/** Faults without a proxy, for a master that this run did not start. */
const KINDS = ['kill', 'stop'] as const satisfies readonly FaultKind[];

const OPTIONS = {
  staging: flag('chooses this mode'),
  configDir: short('c', text('<dir>', 'of the master (/etc/salt)')),
  yes: flag('really do it; without it the plan is shown, and nothing is done'),
  faults: whole('<n>', 'drawn before the first happens', [1, 100_000, 20]),
  seed: seed('of the plan; the same seed is the same plan'),
  only: names('<kind,…>', 'of', KINDS),
  minions: whole('<n>', `simulated ones, ${PREFIX}00000 and on`, [1, 100_000, 50]),
  jobs: whole('<n>', 'per second', [1, 1_000, 2]),
};

type Asked = Given<typeof OPTIONS>;

/** Faults on this host's master; refuses without `--yes`. */
export const staging: Mode = modeOf({
  about: `npm run chaos -- --staging [options]

Faults at the master that runs on this host.

For staging only: services, and NATS and PostgreSQL where they are the master's own, are killed and
stopped, and those who use the master meanwhile feel it. Exit code 0 where nothing was lost, counted
twice or run twice, and everything serves again.`,
  options: OPTIONS,
  refuse,
  run: runOnStaging,
  draw: (report) =>
    `${drawChaos(report)}the keys stay accepted; remove them: brine key -y -d '${PREFIX}*'\n`,
});

/** Refuses if no master runs; without `--yes` prints the plan. */
function refuse(asked: Asked): number | undefined {
  const installation = installationOf(asked);
  if (installation.supervisor() === undefined) {
    const { stateDir } = installation.options.brine;
    process.stderr.write(`chaos: no \`brine master\` runs on this host (${stateDir})\n`);
    return EXIT.failed;
  }
  if (asked.yes) return undefined;
  const { steps, seed } = planFor(installation, asked);
  process.stdout.write(`seed ${seed}: ${steps.map(({ fault }) => nameOf(fault)).join(', ')}\n`);
  process.stderr.write('chaos: nothing was done: this is for staging, and needs --yes\n');
  return EXIT.usage;
}

/** The keys of the minions are written to the master's `pki_dir` and stay there. */
async function runOnStaging(asked: Asked, run: Run): Promise<ChaosReport> {
  const installation = installationOf(asked);
  const { options } = installation;
  const { minions, jobs } = asked;
  const plan = planFor(installation, asked);
  await run.save('plan.json', plan);
  const after = await lastJid(installation);
  const host = clientInterface(options);
  const swarm = await startSwarm(options, run, { minions, host, behaviours: BEHAVIOURS });
  await swarm.connect();
  return runChaos({
    plan,
    installation,
    injector: new Injector(installation),
    fleet: { swarm, minions, prefix: PREFIX, cachedir: options.cachedir },
    rates: { jobs, returns: 1, logIns: 1 },
    run,
    after,
    // The operator sets its deadline, usually an hour.
    untilClosed: false,
  });
}

function installationOf({ configDir }: Asked): Installation {
  return new Installation(loadMasterConfig({ configDir }).options);
}

function planFor(installation: Installation, { faults, seed, only }: Asked): Plan {
  const victims = installation.victims();
  return makePlan(faults, seed, { kinds: only, victims, links: [], disks: [], wires: [] });
}

/** The last job before this run. Throws Error if the database does not answer. */
async function lastJid(installation: Installation): Promise<string> {
  const stored = new StoredProbes(() => installation.databaseUrl());
  try {
    const last = await stored.lastJid();
    if (last === undefined) throw new Error('the database of the master does not answer');
    return last;
  } finally {
    await stored.close();
  }
}
