import { setTimeout as sleep } from 'node:timers/promises';
import { EventReaders } from '../load/event-readers.ts';
import type { Fleet } from '../load/fleet.ts';
import { Fleets } from '../load/fleets.ts';
import type { LoadSample } from '../load/stored-slice.ts';
import type { MasterUnderTest } from '../masters/master.ts';
import { namesOf, withMasters } from '../masters/start-masters.ts';
import { measured } from '../measure/slice.ts';
import { loadFigures } from './load-figures.ts';
import { alternate, type Row, type RowContext } from './row.ts';

const MINIONS = 100;
const IN_FLIGHT = 128;
const TAG = 'bench/event';
const POLL_MS = 50;
/** Events that have not come by then are lost. */
const LATE_MS = 5_000;

/** Events of minions per second, as 1 and 50 readers of the event socket get them. */
export const EVENT_ROWS: readonly Row[] = [1, 50].map((readers) => ({
  name: `events-${readers}`,
  about: `events/s from minions to ${readers} reader(s) of the event socket`,
  inTable: true,
  run: (context) => runEvents(context, readers),
}));

function runEvents({ installed, pairs, sliceSeconds, say }: RowContext, readers: number) {
  return withMasters(installed, namesOf(installed), async (masters) => {
    await using fleets = await Fleets.start(masters, { minions: MINIONS, say });
    const samples = await alternate(
      masters,
      pairs,
      async (master, round) => {
        say(`events to ${readers}: ${master.name}, ${round + 1} of ${pairs}`);
        return eventSlice(master, fleets.of(master), readers, sliceSeconds);
      },
      { warmUp: true },
    );
    const rate = `events/s to ${readers} reader${readers === 1 ? '' : 's'}`;
    const cost = `CPU per event, ${readers} reader${readers === 1 ? '' : 's'}`;
    return loadFigures(`events-${readers}`, { rate, cost }, samples);
  });
}

/** A storm of events; the rate counts what the slowest reader got, until it has all. */
async function eventSlice(
  master: MasterUnderTest,
  fleet: Fleet,
  readers: number,
  seconds: number,
): Promise<LoadSample> {
  await using reading = await EventReaders.open(master, readers, TAG);
  let perSecond = 0;
  const slice = await measured(master.tree, async () => {
    const startedAt = performance.now();
    const load = { inFlight: IN_FLIGHT, durationMs: seconds * 1_000, tag: TAG };
    const result = await fleet.swarm.events(load);
    const until = performance.now() + LATE_MS;
    let least = 0;
    for (;;) {
      least = Math.min(...(await reading.counts()));
      if (least >= result.answered || performance.now() > until) break;
      await sleep(POLL_MS);
    }
    perSecond = least / ((performance.now() - startedAt) / 1_000);
    // What a reader never got counts as lost, beside what the master did not take.
    return { ...result, timedOut: result.timedOut + Math.max(0, result.answered - least) };
  });
  return { ...slice, perSecond };
}
