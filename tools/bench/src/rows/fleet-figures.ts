import type { JobResult, LoadResult } from '@brine/swarm';
import type { Fleet } from '../load/fleet.ts';
import type { MasterName, MasterUnderTest } from '../masters/master.ts';
import { type Cell, cellOf, type Figure, figureOf } from '../report/figure.ts';

/** What was seen of one master with one size of fleet. */
export interface FleetRun {
  readonly master: MasterUnderTest;
  readonly fleet: Fleet;
  readonly logIns: LoadResult;
  /** Jobs without an answer. */
  readonly publishes: readonly JobResult[];
  readonly pings: JobResult[];
  readonly kibPerMinion: number;
  spentMs: number;
}

type Cells = Partial<Record<MasterName, Cell>>;

/** The lines of one size. */
export function fleetFigures(
  size: number,
  runs: readonly FleetRun[],
  absent: Cells,
): readonly Figure[] {
  const row = `fleet-${size}`;
  const cells = (of: (run: FleetRun) => Cell): Cells => ({
    ...absent,
    ...Object.fromEntries(runs.map((run) => [run.master.name, of(run)])),
  });
  const pings = (of: (job: JobResult) => number) => cells((run) => pingCell(run, size, of));
  const many = size.toLocaleString('en-US');
  const less = { row, better: 'less' } as const;
  return [
    figureOf({
      ...less,
      name: `publish → last of ${many}`,
      unit: 'ms',
      cells: cells((run) => publishCell(run, size)),
    }),
    figureOf({
      ...less,
      name: `test.ping of ${many}: p50`,
      unit: 'ms',
      cells: pings((job) => job.p50),
    }),
    figureOf({
      ...less,
      name: `test.ping of ${many}: p99`,
      unit: 'ms',
      cells: pings((job) => job.p99),
    }),
    figureOf({
      ...less,
      name: `test.ping of ${many}: last acknowledged`,
      unit: 'ms',
      cells: pings((job) => job.lastAckMs),
    }),
    {
      ...figureOf({
        row,
        better: 'more',
        name: `test.ping of ${many}: complete`,
        unit: '%',
        cells: cells((run) => completeCell(run, size)),
      }),
      // A ratio of shares means nothing.
      ratios: {},
    },
    figureOf({
      ...less,
      name: `memory per minion of ${many} (PSS)`,
      unit: 'KiB',
      cells: cells(({ kibPerMinion }) => cellOf([kibPerMinion])),
    }),
  ];
}

function publishCell({ publishes }: FleetRun, size: number): Cell {
  const whole = publishes.filter(({ reached }) => reached === size);
  const missed = publishes.length - whole.length;
  return cellOf(
    whole.map(({ reachedLastMs }) => reachedLastMs),
    {
      ...(missed > 0 ? { note: `${missed} of ${publishes.length} incomplete` } : {}),
      rigBound: isRigBound(publishes),
    },
  );
}

/** A time of a job counts only where all answered: of an incomplete one the slowest are missing. */
function pingCell(run: FleetRun, size: number, of: (job: JobResult) => number): Cell {
  const whole = run.pings.filter(({ acknowledged }) => acknowledged === size);
  const none = run.pings.length > 0 && whole.length === 0;
  return cellOf(whole.map(of), {
    ...(none ? { note: 'not reached' } : {}),
    rigBound: isRigBound(run.pings),
    detail: { jobs: run.pings, logIns: run.logIns },
  });
}

function completeCell({ pings }: FleetRun, size: number): Cell {
  const resends = pings.reduce((sum, job) => sum + job.resends, 0);
  return cellOf(
    pings.map(({ acknowledged }) => (100 * acknowledged) / size),
    { note: `${resends.toLocaleString('en-US')} re-sends` },
  );
}

function isRigBound(jobs: readonly JobResult[]): boolean {
  return jobs.some(({ bottleneck }) => bottleneck !== undefined);
}
