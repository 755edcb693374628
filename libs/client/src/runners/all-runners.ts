import { AUDIT_RUNNER } from './audit.ts';
import { AUTH_RUNNER } from './auth.ts';
import { JOBS_RUNNER } from './jobs.ts';
import { LEDGER_RUNNER } from './ledger.ts';
import { MANAGE_RUNNER, OTHER_RUNNERS } from './manage.ts';
import { PILLAR_RUNNER } from './pillar.ts';
import { QUARANTINE_RUNNER } from './quarantine.ts';
import type { RunnerFunction } from './runner-function.ts';

/** The runners that need only a client: the command line and the workers have them. */
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
