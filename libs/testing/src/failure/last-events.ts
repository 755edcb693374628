import { Timeline } from '@brine/bus/timeline';
import { connectToOwn } from '../brine/own-bus.ts';

/** How far back events are read. */
const BACK_MS = 60_000;
/** A master under load has always another event. */
const EVENTS_MAX = 100_000;
const BATCH = 256;

/**
 * The last events of a master's own NATS server, a line each. Reads to the end of the streams, or
 * until the time is up.
 * @throws Error if the server is unreachable or not the master's own.
 */
export async function lastEvents(
  stateDir: string,
  count: number,
  withinMs: number,
): Promise<string[]> {
  const until = performance.now() + withinMs;
  const bus = await connectToOwn(stateDir, withinMs);
  const lines: string[] = [];
  try {
    const timeline = await Timeline.open(bus, { from: { timeMs: Date.now() - BACK_MS } });
    try {
      for (let read = 0; read < EVENTS_MAX && !timeline.isEven;) {
        const leftMs = until - performance.now();
        if (leftMs <= 0) break;
        const events = await timeline.take(BATCH, leftMs, true);
        for (const { timeMs, kind, tag, size } of events) {
          lines.push(`${new Date(timeMs).toISOString().slice(11, 23)} ${kind} ${tag} (${size} B)`);
        }
        read += events.length;
        lines.splice(0, Math.max(0, lines.length - count));
      }
    } finally {
      timeline.close();
    }
    return lines;
  } finally {
    await bus.close();
  }
}
