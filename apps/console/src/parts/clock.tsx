import { Tooltip } from '@mantine/core';
import { clockText } from '../state/asked-time.ts';
import { relativeTime } from '../state/times.ts';
import { useNow } from './now.ts';

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** A time to the millisecond in UTC, for what happens within a second; the rest is beside. */
export function Clock({ time }: { readonly time: string }) {
  const nowMs = useNow();
  const utc = time.replace('T', ' ').replace('Z', ' UTC');
  const label = `${relativeTime(time, nowMs)} · ${utc} · ${LOCAL.format(new Date(time))}`;
  return (
    <Tooltip label={label} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={time} className="number">
        {clockText(time, nowMs)}
      </time>
    </Tooltip>
  );
}
