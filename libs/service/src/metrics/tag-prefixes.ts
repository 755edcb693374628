import type { Metrics } from './metrics.ts';

/** Minions choose tags too, so only this many prefixes are counted by themselves. */
const PREFIXES_MAX = 50;

/**
 * Counts events by the first part of their tag that is not `salt`, as Salt 3008 does
 * (salt/utils/event.py `_event_tag_prefix`); beyond 50 prefixes an event counts as `other`.
 */
export function tagPrefixCounter(metrics: Metrics): (tag: string) => void {
  const fired = metrics.counter('salt_events_fired_total', 'Events, by the start of their tag.');
  const byPrefix = new Map<string, { add(): void }>();
  const seriesOf = (prefix: string): { add(): void } => {
    const known = byPrefix.get(prefix);
    if (known !== undefined) return known;
    if (prefix === '' || prefix.length > 64 || byPrefix.size >= PREFIXES_MAX) {
      return fired.of({ tag_prefix: 'other' });
    }
    const series = fired.of({ tag_prefix: prefix });
    byPrefix.set(prefix, series);
    return series;
  };
  return (tag) => {
    const start = tag.startsWith('salt/') ? 5 : 0;
    const end = tag.indexOf('/', start);
    seriesOf(end < 0 ? tag.slice(start) : tag.slice(start, end)).add();
  };
}
