import { LISTED_GRAINS } from '@brine/api/fleet';
import { Bucket, type BucketEntry, type BucketWatch, type Bus, splitKey } from '@brine/bus';
import { FleetIndex } from '@brine/fleet';
import { mayHaveKey, parseTag } from '@brine/job';
import { readMinions } from '@brine/presence';
import { errorText, sleepUnless, Wakeup } from '@brine/tasks';
import { intOf, isMap, type MapScan, scanMap, WireError } from '@brine/wire';
import { NetapiError } from '../errors.ts';
import type { Following, LiveEvent, LiveEvents } from '../live/live-events.ts';
import { keptGrains } from './kept-grains.ts';
import { keyRecord } from './key-record.ts';
import { PastPosition } from './past-position.ts';
import { wouldChange } from './would-change.ts';

/** What the index is fed with. */
export interface FleetFeedParts {
  readonly bus: Bus;
  readonly live: Pick<LiveEvents, 'listen' | 'position'>;
  readonly onTrouble: (text: string, error: unknown) => void;
  /** Ms that a caller waits for a whole fleet; default 10,000. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 10_000;
const RETRY_AFTER_S = 5;
const RETRY_MS = 1_000;
const LOOK_MS = 50;
/** Buckets and events of one moment come within this time, ms. */
const APART_MS = 2_000;

/** Functions whose returns are a run of states. */
export const STATE_RUNS: ReadonlySet<string> = new Set([
  'state.apply',
  'state.highstate',
  'state.sls',
]);

/** A fleet that is whole, and from where its changes are read. */
export interface WholeFleet {
  readonly index: FleetIndex;
  /** A position of the timeline: nothing that comes after it is missing in what it gives. */
  readonly asOf: string;
}

/** One reading of all sources, until a bucket is made again. */
interface Reading {
  readonly index: FleetIndex;
  readonly watches: readonly BucketWatch[];
  close(): void;
}

/**
 * Keeps an index of the fleet up to date, from the first question on: keys, grains and presence
 * from their buckets, sightings and state runs from the events. Until all of a bucket was read, and
 * while NATS is unreachable, there is no answer: half a fleet looks like a fleet that is gone.
 */
export class FleetFeed {
  readonly #parts: FleetFeedParts;
  readonly #stopping = new AbortController();
  readonly #past = new PastPosition(APART_MS);
  readonly #news = new Wakeup();
  #reading: Reading | undefined;
  #isBegun = false;
  #isStale = false;

  constructor(parts: FleetFeedParts) {
    this.#parts = parts;
  }

  /** For the status. */
  get stats(): { readonly minions: number; readonly isWhole: boolean; readonly refused: number } {
    const index = this.#reading?.index;
    return {
      minions: index?.rows.count ?? 0,
      isWhole: this.#whole() !== undefined,
      refused: index?.refusedTexts ?? 0,
    };
  }

  /** The fleet as soon as it is whole. @throws NetapiError 503 if that takes too long */
  async whole(): Promise<WholeFleet> {
    if (!this.#isBegun) {
      this.#isBegun = true;
      void this.#work();
    }
    const endMs = performance.now() + (this.#parts.patienceMs ?? PATIENCE_MS);
    for (;;) {
      const index = this.#whole();
      if (index !== undefined) return { index, asOf: this.#past.at(performance.now()) };
      const leftMs = endMs - performance.now();
      if (leftMs <= 0) break;
      await sleepUnless(Math.min(LOOK_MS, leftMs), this.#stopping.signal);
    }
    throw new NetapiError(503, 'The minions are being read.', { retryAfter: RETRY_AFTER_S });
  }

  /** The fleet while it is whole; it is read from the first {@link whole} on. */
  get index(): FleetIndex | undefined {
    return this.#whole();
  }

  /** Ends all reading. */
  close(): void {
    this.#stopping.abort();
    this.#news.wake();
    this.#reading?.close();
    this.#reading = undefined;
  }

  #whole(): FleetIndex | undefined {
    const reading = this.#isStale ? undefined : this.#reading;
    return reading?.watches.every((watch) => watch.ready) === true ? reading.index : undefined;
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        this.#isStale = false;
        const reading = await this.#read();
        if (signal.aborted) reading.close();
        else this.#reading = reading;
        while (!this.#isStale && !signal.aborted) await this.#news.wait();
        reading.close();
        this.#reading = undefined;
      } catch (error) {
        if (signal.aborted) return;
        this.#parts.onTrouble(`the minions are not read: ${errorText(error)}`, error);
        await sleepUnless(RETRY_MS, signal);
      }
    }
  }

  async #read(): Promise<Reading> {
    const { bus, live } = this.#parts;
    const index = new FleetIndex(LISTED_GRAINS);
    const watches: BucketWatch[] = [];
    const watch = (
      name: 'brine_keys' | 'brine_minions' | 'brine_presence',
      onChange: (entry: BucketEntry) => void,
    ): Promise<void> => {
      const made = new Bucket(bus, name).watch({
        onChange,
        onReset: () => {
          this.#isStale = true;
          this.#news.wake();
        },
      });
      watches.push(made);
      return made.whenReady();
    };
    let following: Following | undefined;
    const close = (): void => {
      following?.close();
      for (const one of watches) one.close();
    };
    try {
      // Events name minions that have keys.
      await watch('brine_keys', (entry) => takeKey(index, entry));
      following = await live.listen((event) => {
        takeEvent(index, event);
        this.#past.note(event.position, performance.now());
      });
      this.#past.note(live.position, performance.now());
      const shards = new PresenceShards(index);
      await Promise.all([
        watch('brine_minions', (entry) => takeGrains(index, entry)),
        watch('brine_presence', (entry) => shards.take(entry)),
      ]);
      return { index, watches, close };
    } catch (error) {
      close();
      throw error;
    }
  }
}

/** A record of `brine_keys`; one that can not be read counts as none. */
function takeKey(index: FleetIndex, { key, value }: BucketEntry): void {
  const [id = ''] = splitKey(key);
  if (!mayHaveKey(id)) return;
  const record = keyRecord(value);
  index.setKey(id, record && { state: record.state, hasDenied: record.denied.length > 0 });
  // Presence is known of minions with accepted keys.
  if (record?.state !== 'accepted') index.setPresence(id, undefined);
}

function takeGrains(index: FleetIndex, { key, value }: BucketEntry): void {
  const [id = '', kind] = splitKey(key);
  // Earlier releases stored here which minions are syndics.
  if (kind !== undefined) return;
  const kept = keptGrains(value);
  index.setGrains(id, kept?.texts, kept?.at);
}

/** Presence as its owner saves it: a record has a part of the minions, whole. */
class PresenceShards {
  readonly #index: FleetIndex;
  /** Minions of each record without an accepted key, which the next record may leave out. */
  readonly #loose = new Map<string, readonly string[]>();

  constructor(index: FleetIndex) {
    this.#index = index;
  }

  take({ key, value }: BucketEntry): void {
    const [kind] = splitKey(key);
    if (kind !== 'minions') return;
    for (const id of this.#loose.get(key) ?? []) {
      if (!this.#isAccepted(id)) this.#index.setPresence(id, undefined);
    }
    const loose: string[] = [];
    for (const { id, present, sinceMs } of readMinions(value)) {
      this.#index.setPresence(id, { present, since: sinceMs / 1_000 });
      if (!this.#isAccepted(id)) loose.push(id);
    }
    this.#loose.set(key, loose);
  }

  #isAccepted(id: string): boolean {
    return this.#index.keyOf(id) === 'accepted';
  }
}

/** Takes what proves that a minion was there: each comes under its session key. */
function takeEvent(index: FleetIndex, event: LiveEvent): void {
  const at = event.timeMs / 1_000;
  if (event.kind === 'ret') takeReturn(index, event, at);
  else if (event.kind === 'minion' && event.minion !== undefined) {
    index.seen(event.minion, 'event', at);
  }
}

function takeReturn(index: FleetIndex, { tag, packed }: LiveEvent, at: number): void {
  const parsedTag = parseTag(tag);
  if (parsedTag.kind !== 'job-return') return;
  const { id, jid } = parsedTag;
  if (index.keyOf(id) === undefined) return;
  index.seen(id, 'return', at);
  try {
    const body = scanMap(packed);
    if (!STATE_RUNS.has(body.text('fun') ?? '')) return;
    const run = { jid, at, hasFailed: intOf(body, 'retcode') !== 0 };
    if (isTest(body)) index.testRun(id, { ...run, would: wouldChange(body.raw('return')) });
    else index.stateRun(id, run);
  } catch (error) {
    // Readers of events get an empty body then, which is no run of states.
    if (!(error instanceof WireError)) throw error;
  }
}

/** True for a return of a run that only showed what it would change. */
function isTest(body: MapScan): boolean {
  const given = body.value('fun_args');
  if (!Array.isArray(given)) return false;
  return given.some((one) => one === 'test=True' || (isMap(one) && one.get('test') === true));
}
