import { ACKS_ROW } from './acks.ts';
import { CLI_ROW } from './cli.ts';
import { TRACING_ROW, WORKERS_ROWS } from './compared.ts';
import { EVENT_ROWS } from './events.ts';
import { FAIRNESS_ROW } from './fairness.ts';
import { FLEET_ROWS } from './fleet.ts';
import { FOLLOWERS_ROW } from './followers.ts';
import { HERD_ROW } from './herd.ts';
import { HOSTS_ROW } from './hosts.ts';
import { HTTP_ROW } from './http.ts';
import { LIST_JOBS_ROW } from './list-jobs.ts';
import { LOG_IN_ROWS } from './log-ins.ts';
import { OVERLOAD_ROW } from './overload.ts';
import { RETURNS_ROW } from './returns.ts';
import type { Row } from './row.ts';
import { START_ROW } from './start.ts';

/** All rows, in the order of the table; those behind it run only by name. */
export const ALL_ROWS: readonly Row[] = [
  RETURNS_ROW,
  TRACING_ROW,
  ...WORKERS_ROWS,
  ...LOG_IN_ROWS,
  ...EVENT_ROWS,
  ...FLEET_ROWS,
  CLI_ROW,
  LIST_JOBS_ROW,
  START_ROW,
  OVERLOAD_ROW,
  FAIRNESS_ROW,
  HERD_ROW,
  HOSTS_ROW,
  ACKS_ROW,
  HTTP_ROW,
  FOLLOWERS_ROW,
];
