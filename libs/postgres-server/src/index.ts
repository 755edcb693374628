export { startPostgres } from './start-postgres.ts';
export type { RunningPostgres } from './start-postgres.ts';
