import { timeText } from '@brine/api';
import { toJson } from '@brine/wire/text';
import type { LiveEvent } from './live-events.ts';

/** A larger body is left out of lists, and has an address. */
export const SHOWN_MAX_BYTES = 8 * 1024;

/** What is known of an event without its body. */
export type EventHead = Pick<
  LiveEvent,
  'position' | 'side' | 'tag' | 'timeMs' | 'kind' | 'jid' | 'minion'
>;

/** The JSON of an event with its whole data. */
export function wholeText(event: LiveEvent): string {
  return `{${headOf(event)},"data":${toJson(event.data).json}}`;
}

/** The JSON of an event in a list. */
export function shownText(event: LiveEvent): string {
  const { length } = event.packed;
  return length > SHOWN_MAX_BYTES ? largeText(event, length) : wholeText(event);
}

/** The JSON of an event whose body has its own address, relative to that of a list. */
export function largeText(event: EventHead, size: number): string {
  const { position, side } = event;
  const href = `events/${position}${side === 'events' ? '' : `?stream=${side}`}`;
  return `{${headOf(event)},"size":${size},"href":${JSON.stringify(href)}}`;
}

function headOf({ position, tag, timeMs, kind, jid, minion }: EventHead): string {
  // Tags, jobs and minions are texts of peers, which may have any sign.
  const about = [
    ...(jid === undefined ? [] : [`"jid":${JSON.stringify(jid)}`]),
    ...(minion === undefined ? [] : [`"minion":${JSON.stringify(minion)}`]),
  ];
  return [
    `"position":${JSON.stringify(position)}`,
    `"tag":${JSON.stringify(tag)}`,
    `"at":"${timeText(timeMs / 1_000)}"`,
    `"kind":"${kind}"`,
    ...about,
  ].join(',');
}
