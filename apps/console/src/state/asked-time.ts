/** The time of day in UTC, as `02:13:04.120`; with its date where that is not today's. */
export function clockText(time: string, nowMs: number): string {
  const [day = '', clock = ''] = time.split('T');
  const today = new Date(nowMs).toISOString();
  const part = clock.slice(0, 12);
  if (day === today.slice(0, 10)) return part;
  return `${day.slice(0, 5) === today.slice(0, 5) ? day.slice(5) : day} ${part}`;
}

const CLOCK = /^(\d|[01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/;
const DAY = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?$/;

/**
 * What a person writes as a time, as `/v1` takes it: `02:13` is the last time that it was so in
 * UTC, and a day or a time without a zone is of UTC. Other texts stay as they are.
 */
export function timeAsked(text: string, nowMs: number): string {
  const given = text.trim();
  if (CLOCK.test(given)) {
    const clock = given.indexOf(':') === 1 ? `0${given}` : given;
    const full = clock.length === 5 ? `${clock}:00` : clock;
    const today = `${dayOf(nowMs)}T${full}Z`;
    return Date.parse(today) <= nowMs ? today : `${dayOf(nowMs - 86_400_000)}T${full}Z`;
  }
  const [, day, clock = '00:00'] = DAY.exec(given) ?? [];
  if (day === undefined) return given;
  return `${day}T${clock.length === 5 ? `${clock}:00` : clock}Z`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
