import { mayRead, partJudge, type Reader, readsAll, runJudge } from '@brine/acl';
import { type FleetIndex, type Judge, RowSight } from '@brine/fleet';
import { rightsKey } from '../live/sight.ts';
import { STATE_RUNS } from './fleet-feed.ts';

/** Rights that are remembered: some 500 KB each with 100,000 minions. */
const CLASSES_MAX = 32;
/** Rights that no request had for this time are forgotten, ms. */
const IDLE_MS = 30_000;

interface Remembered {
  readonly index: FleetIndex;
  readonly sight: RowSight;
  usedMs: number;
}

/** Which minions readers see, judged once for all readers with the same rights. */
export class FleetSights {
  readonly #ofRights = new Map<string, Remembered>();

  /** What a reader sees of a fleet. */
  async of(index: FleetIndex, reader: Reader): Promise<RowSight> {
    if (readsAll(reader.acl)) return new RowSight(index, undefined);
    const key = rightsKey(reader);
    const now = performance.now();
    for (const [other, { usedMs }] of this.#ofRights) {
      if (now - usedMs > IDLE_MS) this.#ofRights.delete(other);
    }
    let known = this.#ofRights.get(key);
    if (known?.index !== index) {
      known = { index, sight: new RowSight(index, judgeOf(reader)), usedMs: now };
    }
    known.usedMs = now;
    // The last one is the last to be forgotten.
    this.#ofRights.delete(key);
    this.#ofRights.set(key, known);
    if (this.#ofRights.size > CLASSES_MAX) {
      for (const oldest of this.#ofRights.keys()) {
        this.#ofRights.delete(oldest);
        break;
      }
    }
    await known.sight.prepare();
    return known.sight;
  }
}

function judgeOf(reader: Reader): Judge {
  const ofRuns = [...STATE_RUNS].map((fun) => runJudge(reader, fun));
  const seesJobs = mayRead(reader, { kind: 'job', principal: undefined });
  return {
    seesKeys: mayRead(reader, { kind: 'keys' }),
    seesMinion: partJudge(reader, 'minion'),
    seesGrains: partJudge(reader, 'grains'),
    seesRuns: (id) => seesJobs || ofRuns.every((sees) => sees(id)),
  };
}
