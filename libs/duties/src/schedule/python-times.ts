import { mapOf, type SaltMap } from '@brine/wire';
import { strftime, wallClock } from '@brine/wire/text';

/**
 * The times that Salt adds to the metadata of a run (schedule.handle_func). `_TOS` is the offset of
 * the time zone, which a master never has. `_TS` is the local time. `_TT` is the time in UTC, with
 * the month where Salt means the minute.
 */
export function pythonText(now: Date): SaltMap {
  return mapOf({
    _TOS: '0000',
    _TS: strftime(wallClock(now), '%c'),
    _TT: strftime(now, '%Y %B %d %a %H %m'),
  });
}
