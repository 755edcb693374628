import { BATCH_RUNNER } from './batch/batch.ts';
import { REACTOR_RUNNER } from './events/reactor.ts';
import { EVENT_REPLAY } from './events/replay.ts';
import { FILESERVER_RUNNER, GIT_RUNNER } from './files/fileserver.ts';
import { SALTUTIL_RUNNER } from './files/saltutil.ts';
import type { RunnerFunction, WheelFunction } from './function.ts';
import { JOBS_RUNNER } from './jobs/jobs.ts';
import { LEDGER_RUNNER } from './jobs/ledger.ts';
import { QUARANTINE_RUNNER } from './jobs/quarantine.ts';
import { CACHE_RUNNER } from './minions/cache.ts';
import { CACHE_BANKS_RUNNER } from './minions/cache-banks.ts';
import { MANAGE_RUNNER } from './minions/manage.ts';
import { MATCH_RUNNER } from './minions/match.ts';
import { MINE_RUNNER } from './minions/mine.ts';
import { PILLAR_RUNNER } from './minions/pillar.ts';
import { MINIONS_WHEEL, PRESENCE_RUNNER } from './minions/presence.ts';
import { SALT_RUNNER } from './minions/salt.ts';
import { SURVEY_RUNNER } from './minions/survey.ts';
import { CONFIG_RUNNER } from './plain/config.ts';
import { docRunner } from './plain/doc.ts';
import { ERROR_RUNNER, ERROR_WHEEL } from './plain/error.ts';
import { EVENT_RUNNER } from './plain/event.ts';
import { HTTP_RUNNER } from './plain/http.ts';
import { NETWORK_RUNNER } from './plain/network.ts';
import { QUEUE_RUNNER } from './plain/queue.ts';
import { SDB_RUNNER } from './plain/sdb.ts';
import { TEST_RUNNER } from './plain/test.ts';
import { AUDIT_RUNNER } from './record/audit.ts';
import { AUTH_RUNNER } from './record/auth.ts';
import { SCHEDULE_RUNNER } from './schedule/schedule.ts';
import { STATE_EVENT } from './state/event.ts';
import { orchestrateRunner } from './state/orchestrate.ts';
import { PAUSE_RUNNER } from './state/pause.ts';
import { CONFIG_WHEEL } from './wheels/config.ts';
import { KEY_WHEEL } from './wheels/keys.ts';
import { ROOTS_WHEEL } from './wheels/roots.ts';

/** Every runner by its name. A name from the network is looked up here and nowhere else. */
export const RUNNERS: ReadonlyMap<string, RunnerFunction> = byName([
  ...AUDIT_RUNNER,
  ...AUTH_RUNNER,
  ...BATCH_RUNNER,
  ...CACHE_BANKS_RUNNER,
  ...CACHE_RUNNER,
  ...ERROR_RUNNER,
  ...JOBS_RUNNER,
  ...LEDGER_RUNNER,
  ...MANAGE_RUNNER,
  ...MATCH_RUNNER,
  ...MINE_RUNNER,
  ...PILLAR_RUNNER,
  ...PRESENCE_RUNNER,
  ...QUARANTINE_RUNNER,
  ...SALT_RUNNER,
  ...SURVEY_RUNNER,
  ...TEST_RUNNER,
  ...FILESERVER_RUNNER,
  ...GIT_RUNNER,
  ...SALTUTIL_RUNNER,
  ...CONFIG_RUNNER,
  ...EVENT_RUNNER,
  EVENT_REPLAY,
  ...HTTP_RUNNER,
  ...NETWORK_RUNNER,
  ...QUEUE_RUNNER,
  ...REACTOR_RUNNER,
  ...SCHEDULE_RUNNER,
  ...SDB_RUNNER,
  STATE_EVENT,
  ...PAUSE_RUNNER,
  ...orchestrateRunner({
    runner: (name) => RUNNERS.get(name),
    wheel: (name) => WHEELS.get(name),
  }),
  ...docRunner(
    () => RUNNERS,
    () => WHEELS,
  ),
]);

/** Every wheel function by its name. */
export const WHEELS: ReadonlyMap<string, WheelFunction> = byName([
  ...CONFIG_WHEEL,
  ...ERROR_WHEEL,
  ...KEY_WHEEL,
  ...MINIONS_WHEEL,
  ...ROOTS_WHEEL,
]);

function byName<T extends { readonly name: string }>(list: readonly T[]): ReadonlyMap<string, T> {
  return new Map(list.map((fun) => [fun.name, fun]));
}
