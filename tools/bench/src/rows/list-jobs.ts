import type { MasterName } from '../masters/master.ts';
import { namesOf, startMaster } from '../masters/start-masters.ts';
import { type Cell, cellOf, emptyCell, figureOf } from '../report/figure.ts';
import type { Row } from './row.ts';

const SIZES = [100_000, 1_000_000] as const;
/** More than this takes a stock master longer than a benchmark may. */
const STOCK_JOBS_MAX = 100_000;
const RUNS = 3;

/** `salt-run jobs.list_jobs` over a store of many jobs. */
export const LIST_JOBS_ROW: Row = {
  name: 'list-jobs',
  about: 'salt-run jobs.list_jobs with 100,000 and 1,000,000 stored jobs',
  inTable: true,
  run: async ({ installed, say }) => {
    const figures = [];
    for (const jobs of SIZES) {
      const cells: Partial<Record<MasterName, Cell>> = {};
      for (const name of namesOf(installed)) {
        if (name !== 'brine' && jobs > STOCK_JOBS_MAX) {
          cells[name] = emptyCell('not tried');
          continue;
        }
        const master = await startMaster(installed, name);
        try {
          say(`list-jobs: filling ${name} with ${jobs} jobs`);
          await master.fillStore(jobs);
          cells[name] = await listed(name, jobs, () =>
            master.runCommand('salt-run', ['jobs.list_jobs', '--out', 'json']),
          );
        } finally {
          await master.close();
        }
      }
      const many = jobs.toLocaleString('en-US');
      const name = `jobs.list_jobs of ${many}`;
      figures.push(figureOf({ row: 'list-jobs', name, unit: 's', better: 'less', cells }));
    }
    return figures;
  },
};

async function listed(
  name: MasterName,
  jobs: number,
  list: () => Promise<{ ms: number; code: number; stdout: string }>,
): Promise<Cell> {
  const samples: number[] = [];
  let shown = 0;
  for (let run = 0; run < RUNS; run += 1) {
    try {
      const { ms, code, stdout } = await list();
      if (code !== 0) return emptyCell(`exit code ${code}`);
      shown = (stdout.match(/"StartTime"/g) ?? []).length;
      samples.push(ms / 1_000);
      // A listing of minutes is not made three times.
      if (ms > 60_000) break;
    } catch (error) {
      if (samples.length === 0)
        return emptyCell(`${name}: ${(error as Error).message.slice(0, 60)}`);
      break;
    }
  }
  return cellOf(samples, {
    ...(shown < jobs ? { note: `${shown.toLocaleString('en-US')} shown` } : {}),
  });
}
