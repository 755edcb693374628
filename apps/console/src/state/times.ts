const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** A time as people say it, as `3 minutes ago`. @param nowMs ms of the epoch */
export function relativeTime(time: string, nowMs: number): string {
  const seconds = (Date.parse(time) - nowMs) / 1_000;
  const [unit, size] = UNITS.find(([, of]) => Math.abs(seconds) >= of) ?? (['second', 1] as const);
  const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  return format.format(Math.trunc(seconds / size), unit);
}

/** A length of time, as `1 h 5 min`, `12.3 s`, `40 ms`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const LOCAL = new Intl.DateTimeFormat('sv', {
  dateStyle: 'short',
  timeStyle: 'medium',
});

/** A time as the API writes it, in UTC and as clocks here show it. @param first which is first */
export function exactTime(time: string, first: 'utc' | 'local'): string {
  const utc = time.replace('T', ' ').replace('Z', ' UTC');
  const local = `${LOCAL.format(new Date(time))} here`;
  return first === 'utc' ? `${utc} · ${local}` : `${local} · ${utc}`;
}
