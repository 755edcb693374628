// Writes the Grafana dashboards of infra/grafana/dashboards from their description in
// tools/dashboards: `npm run dashboards`. A test compares both.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { type Board, dashboardOf } from './dashboards/board.ts';
import { fleet } from './dashboards/fleet.ts';
import { job } from './dashboards/job.ts';
import { nats } from './dashboards/nats.ts';
import { postgres } from './dashboards/postgres.ts';
import { services } from './dashboards/services.ts';

/** All dashboards of Brine. */
export const BOARDS: readonly Board[] = [fleet, job, services, nats, postgres];

/** The directory where Grafana finds them. */
export const DASHBOARDS_DIR = new URL('../infra/grafana/dashboards/', import.meta.url).pathname;

/** The text of a dashboard's file. */
export function dashboardText(board: Board): Promise<string> {
  return format(JSON.stringify(dashboardOf(board)), { parser: 'json', printWidth: 100 });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  mkdirSync(DASHBOARDS_DIR, { recursive: true });
  for (const board of BOARDS) {
    writeFileSync(join(DASHBOARDS_DIR, `${board.name}.json`), await dashboardText(board));
  }
}
