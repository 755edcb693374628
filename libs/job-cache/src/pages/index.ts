export type { MinionFilter } from './job-minions.ts';
export type { JobFilter, JobLine } from './job-rows.ts';
