const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September'],
  ...['October', 'November', 'December'],
];
const DAY_MS = 86_400_000;

/** Directives that abbreviate several others. */
const LONG: Readonly<Record<string, string>> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

const PARTS: Readonly<Record<string, (wall: Date, micros: number) => string>> = {
  a: (wall) => dayName(wall).slice(0, 3),
  A: dayName,
  b: (wall) => monthName(wall).slice(0, 3),
  B: monthName,
  C: (wall) => two(Math.floor(wall.getUTCFullYear() / 100)),
  d: (wall) => two(wall.getUTCDate()),
  e: (wall) => two(wall.getUTCDate(), ' '),
  f: (_wall, micros) => String(micros).padStart(6, '0'),
  g: (wall) => two(thursday(wall).getUTCFullYear() % 100),
  G: (wall) => String(thursday(wall).getUTCFullYear()),
  h: (wall) => monthName(wall).slice(0, 3),
  H: (wall) => two(wall.getUTCHours()),
  I: (wall) => two(halfDayHour(wall)),
  j: (wall) => String(dayOfYear(wall) + 1).padStart(3, '0'),
  k: (wall) => two(wall.getUTCHours(), ' '),
  l: (wall) => two(halfDayHour(wall), ' '),
  m: (wall) => two(wall.getUTCMonth() + 1),
  M: (wall) => two(wall.getUTCMinutes()),
  n: () => '\n',
  p: (wall) => (wall.getUTCHours() < 12 ? 'AM' : 'PM'),
  P: (wall) => (wall.getUTCHours() < 12 ? 'am' : 'pm'),
  s: (wall) => String(Math.floor(momentOf(wall) / 1000)),
  S: (wall) => two(wall.getUTCSeconds()),
  t: () => '\t',
  u: (wall) => String(wall.getUTCDay() === 0 ? 7 : wall.getUTCDay()),
  U: (wall) => two(Math.floor((dayOfYear(wall) + 7 - wall.getUTCDay()) / 7)),
  V: (wall) => two(Math.floor(dayOfYear(thursday(wall)) / 7) + 1),
  w: (wall) => String(wall.getUTCDay()),
  W: (wall) => two(Math.floor((dayOfYear(wall) + 7 - daysSinceMonday(wall)) / 7)),
  y: (wall) => two(wall.getUTCFullYear() % 100),
  Y: (wall) => String(wall.getUTCFullYear()),
  z: () => '',
  Z: () => '',
  '%': () => '%',
};

/**
 * Writes a time without a zone as Python's `datetime.strftime` does in the C locale.
 * @param wall the time that a clock shows, as the UTC fields of a Date: see `wallClock`
 * @param micros the fraction of the second, for `%f`
 */
export function strftime(wall: Date, format: string, micros = 0): string {
  return format
    .replaceAll(/%%|%([cDFrRTxX])/g, (whole, letter: string | undefined) =>
      letter === undefined ? whole : (LONG[letter] ?? whole),
    )
    .replaceAll(/%([-_0^]?)([a-zA-Z%])/g, (whole, flag: string, letter: string) => {
      const part = PARTS[letter]?.(wall, micros);
      return part === undefined ? whole : flagged(part, flag);
    });
}

/** The time that a clock of the local zone shows at a moment, as the UTC fields of a Date. */
export function wallClock(moment: Date): Date {
  const wall = new Date(0);
  wall.setUTCFullYear(moment.getFullYear(), moment.getMonth(), moment.getDate());
  wall.setUTCHours(moment.getHours(), moment.getMinutes(), moment.getSeconds());
  return wall;
}

/** The moment at which a local clock shows this, in ms since 1970. */
function momentOf(wall: Date): number {
  const [year, month, day] = [wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate()];
  const [hour, minute, second] = [wall.getUTCHours(), wall.getUTCMinutes(), wall.getUTCSeconds()];
  const local = new Date(year, month, day, hour, minute, second);
  if (year < 100) local.setFullYear(year);
  return local.getTime();
}

/** Applies a flag before the letter, as the C library does. */
function flagged(part: string, flag: string): string {
  if (flag === '^') return part.toUpperCase();
  if (flag === '' || !/^[ 0]*\d+$/.test(part)) return part;
  const digits = part.replace(/^[ 0]+(?=\d)/, '');
  return flag === '-' ? digits : digits.padStart(part.length, flag === '_' ? ' ' : '0');
}

function two(value: number, fill = '0'): string {
  return String(value).padStart(2, fill);
}

function dayName(wall: Date): string {
  return DAYS[wall.getUTCDay()] ?? '';
}

function monthName(wall: Date): string {
  return MONTHS[wall.getUTCMonth()] ?? '';
}

function halfDayHour(wall: Date): number {
  return wall.getUTCHours() % 12 === 0 ? 12 : wall.getUTCHours() % 12;
}

function dayOfYear(wall: Date): number {
  const first = new Date(wall);
  first.setUTCMonth(0, 1);
  return Math.round((wall.getTime() - first.getTime()) / DAY_MS);
}

function daysSinceMonday(wall: Date): number {
  return (wall.getUTCDay() + 6) % 7;
}

/** The Thursday of the week, whose year is that of the week in ISO 8601. */
function thursday(wall: Date): Date {
  return new Date(wall.getTime() + (3 - daysSinceMonday(wall)) * DAY_MS);
}
