import type { Bus } from '../connection/connect.ts';
import { before, parsePosition, printPosition } from './position.ts';
import { type BusEvent, Timeline, type TimelineSide } from './timeline.ts';

/** A page has 255 events, and the one that is asked for may be its last. */
const TAKEN_MAX = 256;
const WAIT_MS = 5_000;

/**
 * The event with this position in this stream; undefined if it is not kept any more, or never was.
 * @throws BusError as `Timeline.open`
 */
export async function eventAt(
  bus: Bus,
  position: string,
  side: TimelineSide,
): Promise<BusEvent | undefined> {
  const wanted = parsePosition(position);
  const { seq, index } = wanted[side];
  if (seq === 0) return undefined;
  const from = { position: printPosition({ ...wanted, [side]: before(wanted[side]) }) };
  const timeline = await Timeline.open(bus, { from, readAhead: 1, ...of(side) });
  try {
    if (timeline.takeNotices().length > 0) return undefined;
    const events = await timeline.take(TAKEN_MAX, WAIT_MS, true);
    return events.find((event) => {
      const place = parsePosition(event.position)[side];
      return event.side === side && place.seq === seq && place.index === index;
    });
  } finally {
    timeline.close();
  }
}

/** Reads one stream. Without any kind a reader would read all, and events of keys are few. */
function of(side: TimelineSide): object {
  if (side === 'events') return { jobs: false };
  return { kinds: ['key'], jobs: true, fits: ({ kind }: { kind: string }) => kind === 'job' };
}
