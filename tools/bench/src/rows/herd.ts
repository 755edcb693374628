import { setTimeout as sleep } from 'node:timers/promises';
import { Releasers } from '@brine/service';
import { Fleet } from '../load/fleet.ts';
import type { MasterUnderTest } from '../masters/master.ts';
import { startMaster } from '../masters/start-masters.ts';
import { measured } from '../measure/slice.ts';
import { type Cell, cellOf, type Figure, figureOf } from '../report/figure.ts';
import type { Row, RowContext } from './row.ts';

const MINIONS = 10_000;
const JOB_WAIT_MS = 60_000;
/** After a restart subscribers come back within 1 to 11 s, as stock minions do. */
const RECONNECT_MS = 15_000;

/** All minions at once after a restart: none where the keys were kept, every one where not. */
export const HERD_ROW: Row = {
  name: 'herd',
  about: `${MINIONS} minions after a restart of the master, with and without its keys`,
  inTable: false,
  run: runHerd,
};

async function runHerd({ installed, say, minionsMax }: RowContext): Promise<readonly Figure[]> {
  const minions = Math.min(MINIONS, minionsMax);
  await using releasers = new Releasers();
  let master: MasterUnderTest = await startMaster(installed, 'brine');
  releasers.add(() => master.close());
  const fleet = await Fleet.start(master, { minions, say });
  releasers.add(() => fleet.close());
  say(`herd: ${minions} minions log in`);
  const first = await measured(master.tree, () => fleet.logIn(minions));
  await fleet.swarm.connect();

  say('herd: restart, keys are kept');
  const before = (await fleet.swarm.stats()).total.logIns;
  master = await master.restart({ keepKeys: true });
  await sleep(RECONNECT_MS);
  const job = await fleet.publish(JOB_WAIT_MS);
  const again = (await fleet.swarm.stats()).total.logIns - before;

  say('herd: restart, keys are gone');
  master = await master.restart({ keepKeys: false });
  const storm = await measured(master.tree, () => fleet.logIn(minions));
  const row = 'herd';
  const many = minions.toLocaleString('en-US');
  const line = (
    name: string,
    unit: Figure['unit'],
    cell: Cell,
    better: Figure['better'] = 'less',
  ) => figureOf({ row, name, unit, better, cells: { brine: cell } });
  return [
    line(`keys kept: log-ins of ${many}`, 'count', cellOf([again])),
    line(
      'keys kept: next test.ping complete',
      '%',
      cellOf([(100 * job.acknowledged) / minions], {
        note: `${job.resends} re-sends, last after ${(job.lastAckMs / 1_000).toFixed(1)} s`,
        detail: { job },
      }),
      'more',
    ),
    ...[first, storm].flatMap(({ result, cpuSeconds, byService }, index) => {
      const when = index === 0 ? 'first start' : 'keys gone';
      return [
        line(
          `${when}: ${many} at once, all in after`,
          's',
          cellOf([result.seconds], {
            note:
              `${result.answered} in, ${result.refused} refused, ${result.resent} re-sent, ` +
              `${result.timedOut} lost`,
            rigBound: result.bottleneck !== undefined,
            detail: { result, byService },
          }),
        ),
        line(`${when}: CPU of the master`, 's', cellOf([cpuSeconds])),
      ];
    }),
  ];
}
