import type { RunnerFunction, WheelFunction } from './function.ts';
import { JOBS_RUNNER } from './jobs/jobs.ts';
import { LEDGER_RUNNER } from './jobs/ledger.ts';
import { QUARANTINE_RUNNER } from './jobs/quarantine.ts';
import { MANAGE_RUNNER } from './minions/manage.ts';
import { PILLAR_RUNNER } from './minions/pillar.ts';
import { SALT_RUNNER } from './minions/salt.ts';
import { AUDIT_RUNNER } from './record/audit.ts';
import { AUTH_RUNNER } from './record/auth.ts';
import { TEST_RUNNER } from './plain/test.ts';
import { KEY_WHEEL } from './wheels/keys.ts';

/**
 * Every runner by its name. A name that comes over the wire is looked up here and nowhere else.
 */
export const RUNNERS: ReadonlyMap<string, RunnerFunction> = byName([
  ...AUDIT_RUNNER,
  ...AUTH_RUNNER,
  ...JOBS_RUNNER,
  ...LEDGER_RUNNER,
  ...MANAGE_RUNNER,
  ...PILLAR_RUNNER,
  ...QUARANTINE_RUNNER,
  ...SALT_RUNNER,
  ...TEST_RUNNER,
]);

/** Every wheel function by its name. */
export const WHEELS: ReadonlyMap<string, WheelFunction> = byName(KEY_WHEEL);

function byName<T extends { readonly name: string }>(list: readonly T[]): ReadonlyMap<string, T> {
  return new Map(list.map((fun) => [fun.name, fun]));
}
