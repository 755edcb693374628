export { runningPostgresUrl } from './running.ts';
export type { RunningPostgres } from './start-postgres.ts';
export { startPostgres } from './start-postgres.ts';
