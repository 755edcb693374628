import { readFile } from 'node:fs/promises';
import { type Given, names, seed, text, whole } from '@brine/swarm/options';
import { drawChaos } from '../draw-chaos.ts';
import { Injector } from '../inject.ts';
import { BEHAVIOURS } from '../load.ts';
import { type OwnMaster, startOwnMaster } from '../own-master.ts';
import { DISKS, FAULT_KINDS, LINKS, makePlan, type Plan, readPlan, WIRES } from '../plan.ts';
import type { Run } from '../run.ts';
import { type ChaosReport, runChaos } from '../run-chaos.ts';
import { IMPATIENT, PREFIX, startSwarm } from '../swarm.ts';
import { modeOf } from './mode.ts';

/** Finds connections that were reset during packet loss. Stock: 300 s. */
const KEEP_ALIVE_MS = 1_000;

const OPTIONS = {
  faults: whole('<n>', 'drawn before the first happens', [1, 100_000, 20]),
  seed: seed('of the plan; the same seed is the same plan'),
  minions: whole('<n>', 'simulated ones', [20, 100_000, 100]),
  only: names('<kind,…>', 'of', FAULT_KINDS),
  jobs: whole('<n>', 'per second', [1, 1_000, 3]),
  workers: whole('<n>', 'of the master', [1, 64, 2]),
  replay: text('<file>', 'the plan.json that a run has kept, once more'),
};

type Asked = Given<typeof OPTIONS>;

/** Faults on the run's own master. */
export const own = modeOf({
  about: `npm run chaos -- [options]        random faults at a master under load
npm run chaos -- --rolling <n>    rolling restarts under load: see --rolling --help
npm run chaos -- --nodes <n>      nodes of NATS and PostgreSQL are lost: see --nodes --help
npm run chaos -- --tree <n>       faults between two masters: see --tree --help
npm run chaos -- --staging        faults at the master of this host: see --staging --help`,
  options: OPTIONS,
  run: runOnOwnMaster,
  draw: drawChaos,
});

async function runOnOwnMaster(asked: Asked, run: Run): Promise<ChaosReport> {
  const replayed =
    asked.replay === undefined ? undefined : readPlan(await readFile(asked.replay, 'utf8'));
  run.print(`seed ${replayed?.seed ?? asked.seed}: a master starts`);
  const kinds = replayed?.steps.map(({ fault }) => fault.kind) ?? asked.only;
  const master = await startOwnMaster(asked.workers, kinds);
  run.onEnd((keep) => master.close(keep));
  const plan = replayed ?? drawPlan(asked, master, run);
  await run.save('plan.json', plan);
  const { installation, tools } = master;
  const { minions, jobs } = asked;
  const swarm = await startMinions(master, run, minions);
  await swarm.connect();
  const { cacheDir: cachedir } = master.master.home;
  return runChaos({
    plan,
    installation,
    injector: new Injector(installation, tools),
    fleet: { swarm, minions, prefix: PREFIX, cachedir },
    rates: { jobs, returns: 3, logIns: 1 },
    run,
    after: '',
    untilClosed: true,
  });
}

function drawPlan({ faults, seed, only: kinds }: Asked, master: OwnMaster, { print }: Run): Plan {
  const { installation, tools } = master;
  const disks = DISKS.filter((disk) => tools.disks[disk] !== undefined);
  const wires = tools.wires === undefined ? [] : WIRES;
  if (kinds.includes('full') && disks.length === 0) print('left out: full (may not mount)');
  if (kinds.includes('partition') && wires.length === 0) {
    print('left out: partition (may not make a network namespace)');
  }
  const victims = installation.victims();
  return makePlan(faults, seed, { kinds, victims, links: LINKS, disks, wires });
}

function startMinions({ entries, master }: OwnMaster, run: Run, minions: number) {
  return startSwarm(master.home, run, {
    minions,
    host: entries.request.host,
    retPort: entries.request.port,
    publishPort: entries.publish.port,
    // The client's own connection gets no faults: its answers must be true.
    clientHost: '127.0.0.1',
    clientPort: master.home.retPort,
    behaviours: BEHAVIOURS,
    ...IMPATIENT,
    keepAliveMs: KEEP_ALIVE_MS,
  });
}
