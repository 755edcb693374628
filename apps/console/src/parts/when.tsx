import { Tooltip } from '@mantine/core';
import { relativeTime } from '../state/times.ts';
import { useNow } from './now.ts';

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

/** A time: how long ago, with UTC and the local time beside. */
export function When({ time }: { readonly time: string | null | undefined }) {
  const nowMs = useNow();
  if (time === null || time === undefined) return <span>–</span>;
  const exact = `${time.replace('T', ' ').replace('Z', ' UTC')} · ${LOCAL.format(new Date(time))}`;
  return (
    <Tooltip label={exact} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={time}>{relativeTime(time, nowMs)}</time>
    </Tooltip>
  );
}
