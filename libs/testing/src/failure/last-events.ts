import { setTimeout as sleep } from 'node:timers/promises';
import { EventReader } from '@brine/bus/events';
import { connectToOwn } from '../brine/own-bus.ts';

/** How far back events are read. */
const BACK_MS = 60_000;
/** No event for so long: that was the last one. */
const QUIET_MS = 300;
/** A master under load has always another event. */
const READ_MS = 3_000;
const BATCH = 256;

/**
 * The last events in the stream of a master's own NATS server, a line each.
 * @throws Error if the server is unreachable or not the master's own.
 */
export async function lastEvents(stateDir: string, count: number): Promise<string[]> {
  const bus = await connectToOwn(stateDir);
  const reader = new EventReader(bus, { from: { timeMs: Date.now() - BACK_MS } });
  const until = Date.now() + READ_MS;
  const lines: string[] = [];
  try {
    const batches = reader.batches(BATCH);
    while (Date.now() < until) {
      const next = await Promise.race([batches.next(), sleep(QUIET_MS)]);
      if (next === undefined || next.done === true) break;
      for (const { timeMs, kind, tag, size } of next.value) {
        lines.push(`${new Date(timeMs).toISOString().slice(11, 23)} ${kind} ${tag} (${size} B)`);
      }
      lines.splice(0, Math.max(0, lines.length - count));
    }
    return lines;
  } finally {
    reader.close();
    await bus.close();
  }
}
