import { Tooltip } from '@mantine/core';
import { clockText } from '../state/asked-time.ts';
import { useSettings } from '../state/settings.ts';
import { exactTime, relativeTime } from '../state/times.ts';
import { useNow } from './now.ts';

/** A time to the millisecond in UTC, for what happens within a second; the rest is beside. */
export function Clock({ time }: { readonly time: string }) {
  const nowMs = useNow();
  const { zone } = useSettings().settings;
  const label = `${relativeTime(time, nowMs)} · ${exactTime(time, zone)}`;
  return (
    <Tooltip label={label} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={time} className="number">
        {clockText(time, nowMs)}
      </time>
    </Tooltip>
  );
}
