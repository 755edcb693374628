import type { MasterName } from '../masters/master.ts';
import { namesOf, startMaster } from '../masters/start-masters.ts';
import { totalPss } from '../measure/process-tree.ts';
import { quiet } from '../measure/slice.ts';
import { type Cell, cellOf, figureOf } from '../report/figure.ts';
import type { Row } from './row.ts';

/** A start costs seconds and varies little. */
const STARTS = 3;
const KIB_PER_MIB = 1_024;

/** Start-up until a request is answered and all services are ready; the first one makes keys. */
export const START_ROW: Row = {
  name: 'start',
  about: 'start-up time until it serves, memory at rest',
  inTable: true,
  run: async ({ installed, say }) => {
    const fresh = new Map<MasterName, number[]>();
    const again = new Map<MasterName, number[]>();
    const rest = new Map<MasterName, number[]>();
    const sizes = new Map<MasterName, unknown>();
    for (let round = 0; round < STARTS; round += 1) {
      for (const name of namesOf(installed)) {
        say(`start: ${name}, ${round + 1} of ${STARTS}`);
        const first = await startMaster(installed, name);
        push(fresh, name, first.startMs / 1_000);
        const second = await first.restart({ keepKeys: true });
        push(again, name, second.startMs / 1_000);
        await quiet(second.tree);
        const now = await second.tree.sizes();
        push(rest, name, totalPss(now) / KIB_PER_MIB);
        sizes.set(name, now);
        await second.close();
      }
    }
    const cells = (from: Map<MasterName, number[]>): Record<string, Cell> =>
      Object.fromEntries([...from].map(([name, samples]) => [name, cellOf(samples)]));
    const restCells = Object.fromEntries(
      [...rest].map(([name, all]) => [name, cellOf(all, { detail: { sizes: sizes.get(name) } })]),
    );
    const head = { row: 'start', unit: 's', better: 'less' } as const;
    return [
      figureOf({ ...head, name: 'first start, until it serves', cells: cells(fresh) }),
      figureOf({ ...head, name: 'later start, until it serves', cells: cells(again) }),
      figureOf({ ...head, name: 'memory at rest (PSS)', unit: 'MiB', cells: restCells }),
    ];
  },
};

function push(into: Map<MasterName, number[]>, name: MasterName, value: number): void {
  const all = into.get(name);
  if (all) all.push(value);
  else into.set(name, [value]);
}
