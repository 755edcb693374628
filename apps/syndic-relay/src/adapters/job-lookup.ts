import type { Bus } from '@brine/bus';
import { BusError, handleEach } from '@brine/bus';
import { PublicationReader } from '@brine/bus/jobs';
import { ask } from '@brine/bus/rpc';
import type { Jobs, KnownJob } from '@brine/syndic';
import { askerOf, RecentJobs } from '@brine/syndic';
import type { Log } from '@brine/tasks';
import type { SaltMap, SaltValue } from '@brine/wire';
import { isMap, listOf, mapIn, mapOf, textOf } from '@brine/wire';

/** The stream of jobs is read back this far: its owner keeps that much anyway (`trimStreams`). */
const READ_BACK_MS = 15 * 60_000;
const STORE_TIMEOUT_MS = 3_000;
/** A return may be read before its job, which is in another stream. */
const LAG_MS = 300;
/** Pause between queries while the store is unreachable. */
const STORE_PAUSE_MS = 10_000;

/** Looks up jobs: recent ones from the stream, older ones in the store. */
export class JobLookup implements Jobs {
  readonly #recent = new RecentJobs();
  readonly #reader: PublicationReader;
  readonly #askStore: (jid: string) => Promise<SaltValue>;
  readonly #wait: (ms: number) => Promise<void>;
  readonly #log: Log;
  #storeAfterMs = 0;

  constructor(bus: Bus, log: Log, wait: (ms: number) => Promise<void>) {
    const from = { timeMs: Date.now() - READ_BACK_MS };
    this.#reader = new PublicationReader(bus, { kinds: ['job'], from });
    this.#askStore = (jid) => ask(bus, 'brine.jobs.job', mapOf({ jid }), STORE_TIMEOUT_MS);
    this.#log = log;
    this.#wait = wait;
  }

  /** True while jobs are being read. */
  get reading(): boolean {
    return this.#reader.reading;
  }

  /** Reads jobs until it is closed. */
  run(): Promise<void> {
    return handleEach(this.#reader, (one) => {
      if (one.kind === 'job') this.#recent.add(one.job);
    });
  }

  close(): void {
    this.#reader.close();
  }

  async find(jid: string): Promise<KnownJob | undefined> {
    const known = this.#recent.find(jid);
    if (known !== undefined) return known;
    const stored = await this.#stored(jid);
    if (stored !== undefined) return stored;
    await this.#wait(LAG_MS);
    return this.#recent.find(jid);
  }

  async #stored(jid: string): Promise<KnownJob | undefined> {
    if (performance.now() < this.#storeAfterMs) return undefined;
    try {
      const job = await this.#askStore(jid);
      return isMap(job) ? knownJob(job) : undefined;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      this.#storeAfterMs = performance.now() + STORE_PAUSE_MS;
      this.#log.warn({ err: error, jid }, 'the job cache did not answer about a job');
      return undefined;
    }
  }
}

function knownJob(job: SaltMap): KnownJob {
  const asker = askerOf(textOf(job, 'requestId') ?? '');
  const load = mapIn(job, 'load');
  const minions = (listOf(job, 'minions') ?? []).filter((id) => typeof id === 'string');
  return {
    askers: new Set(asker === undefined ? [] : [asker]),
    load: load && new Map([...load, ['Minions', minions.sort()]]),
  };
}
