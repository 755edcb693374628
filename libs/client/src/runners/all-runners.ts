import { AUDIT_RUNNER } from './audit.ts';
import { AUTH_RUNNER } from './auth.ts';
import type { RunnerFunction } from './function.ts';
import { JOBS_RUNNER } from './jobs.ts';
import { LEDGER_RUNNER } from './ledger.ts';
import { MANAGE_RUNNER, OTHER_RUNNERS } from './manage.ts';
import { PILLAR_RUNNER } from './pillar.ts';
import { QUARANTINE_RUNNER } from './quarantine.ts';

/** The runners that run wherever a client is: at the command line, and in a worker. */
export const RUNNERS: readonly RunnerFunction[] = [
  ...AUDIT_RUNNER,
  ...AUTH_RUNNER,
  ...JOBS_RUNNER,
  ...LEDGER_RUNNER,
  ...MANAGE_RUNNER,
  ...PILLAR_RUNNER,
  ...QUARANTINE_RUNNER,
  ...OTHER_RUNNERS,
];
