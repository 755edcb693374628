import { mapOf, type SaltMap } from '@brine/wire';

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August'],
  ...['September', 'October', 'November', 'December'],
];

/**
 * What Salt adds to the metadata of a run (schedule.handle_func): `_TOS` is the offset of the time
 * zone, which a master never knows; `_TS` is the local time; `_TT` is the time in UTC, with the
 * month where Salt means the minute.
 */
export function pythonText(now: Date): SaltMap {
  const two = (value: number): string => String(value).padStart(2, '0');
  const clock = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join(':');
  const month = MONTHS[now.getMonth()]?.slice(0, 3) ?? '';
  const day = String(now.getDate()).padStart(2, ' ');
  const local = `${DAYS[now.getDay()] ?? ''} ${month} ${day} ${clock} ${now.getFullYear()}`;
  const utc = [
    now.getUTCFullYear(),
    MONTHS[now.getUTCMonth()] ?? '',
    two(now.getUTCDate()),
    DAYS[now.getUTCDay()] ?? '',
    two(now.getUTCHours()),
    two(now.getUTCMonth() + 1),
  ].join(' ');
  return mapOf({ _TOS: '0000', _TS: local, _TT: utc });
}
