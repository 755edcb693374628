import { Tooltip } from '@mantine/core';
import { useSettings } from '../state/settings.ts';
import { exactTime, relativeTime } from '../state/times.ts';
import { useNow } from './now.ts';

/** A time: how long ago, with UTC and the local time beside. */
export function When({ time }: { readonly time: string | null | undefined }) {
  const nowMs = useNow();
  const { zone } = useSettings().settings;
  if (time === null || time === undefined) return <span>–</span>;
  return (
    <Tooltip label={exactTime(time, zone)} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={time}>{relativeTime(time, nowMs)}</time>
    </Tooltip>
  );
}
