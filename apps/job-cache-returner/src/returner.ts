import type { Bus, Stray } from '@brine/bus';
import { EventReader, tellCommitted } from '@brine/bus/events';
import { PublicationReader } from '@brine/bus/jobs';
import type { Answering } from '@brine/bus/rpc';
import { serve } from '@brine/bus/rpc';
import { FleetCounts, isRefused, JobCache, JobCacheError } from '@brine/job-cache';
import type { Metrics, TracedJob } from '@brine/service';
import type { Log, Telemetry } from '@brine/telemetry';
import { isMap } from '@brine/wire';
import { startMaintenance } from './adapters/maintenance.ts';
import { exposeMetrics } from './adapters/metrics.ts';
import type { StoreContext } from './adapters/store-context.ts';
import { StoreCounts } from './adapters/store-counts.ts';
import { QUERIES, QueryError } from './queries/queries.ts';
import { Hold } from './store/hold.ts';
import { keepStray } from './store/keep-stray.ts';
import { takeJobs } from './store/take-jobs.ts';
import { takeReturns } from './store/take-returns.ts';

/** Name of both durable consumers: several processes share the streams under it. */
export const DURABLE = 'store';

/** Events of one group; the statements are cut smaller by bytes. */
const MAX_GROUP = 500;
/**
 * How long a group waits for more, in ms. Nobody waits for the store of a return, and a statement
 * for a few rows costs PostgreSQL and us as much as one for fifty.
 */
const LINGER_MS = 20;
/** Groups in hand at once: one waits for PostgreSQL while the next is made ready. */
const GROUPS_IN_HAND = 2;
/** Longer than a statement of 50 MB takes, shorter than anybody waits for a killed process. */
const ACK_WAIT_MS = 30_000;
/** Messages in hand of all processes together. */
const MAX_ACK_PENDING = 4_000;

/** Minions that have metrics of their own by default: two series each. */
export const MAX_MINION_LABELS = 500;

/** What the returner needs. */
export interface ReturnerPorts {
  readonly bus: Bus;
  readonly databaseUrl: string;
  /** History is kept this long, in ms; 0 keeps all. */
  readonly keepMs: number;
  /** False: returns are counted and what they say is not kept. Default true. */
  readonly keepReturns?: boolean;
  /** What is older goes to the archive; otherwise it is dropped. Default false. */
  readonly archive?: boolean;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'recordSpan'>;
  readonly metrics: Metrics;
  /** With more minions than that metrics do not tell of each; 500. */
  readonly maxMinionLabels?: number;
  /** Whether workers wait for commits (`brine.ack: store`). */
  readonly tellCommits?: boolean;
  /** The trace of a job; without it metrics have no exemplars. */
  readonly traced?: TracedJob;
  /** Aborted when we are to stop: what can not be stored then goes back to the stream. */
  readonly signal: AbortSignal;
  /** After so long without an acknowledgement the stream delivers again, in ms; 30,000. */
  readonly ackWaitMs?: number;
  /** Opens the database; another one in the simulation. */
  readonly connect?: typeof JobCache.connect;
}

/** The store of jobs and returns, from the streams to PostgreSQL. */
export class Returner {
  readonly #ports: ReturnerPorts;
  readonly #hold: Hold;
  readonly #counts: StoreCounts;
  readonly #jobs: PublicationReader;
  readonly #returns: EventReader;
  readonly #answering: Answering[] = [];
  readonly #fleet: FleetCounts;
  #cache: JobCache | undefined;
  #context: StoreContext | undefined;
  /** Ends when all strays so far are kept. */
  #keeping: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;
  /** Resolves when everything has ended; rejects with what can not be mended. */
  readonly finished: Promise<void>;

  /** Starts at once; PostgreSQL may come later. */
  constructor(ports: ReturnerPorts) {
    const { bus, log } = ports;
    this.#ports = ports;
    this.#counts = new StoreCounts(ports.metrics, log);
    this.#hold = new Hold(
      {
        onOutage: (error) => log.error({ err: error }, 'PostgreSQL is away, holding returns'),
        onRecovered: (seconds) => log.info({ seconds }, 'PostgreSQL is back'),
      },
      ports.signal,
    );
    const place = {
      durable: DURABLE,
      ackWaitMs: ports.ackWaitMs ?? ACK_WAIT_MS,
      maxAckPending: MAX_ACK_PENDING,
    };
    const readers = { ...place, keepStray: (stray: Stray) => this.#keepStray(stray) };
    this.#jobs = new PublicationReader(bus, { ...readers, kinds: ['job'] });
    const kinds = ['ret', 'auth', 'sighting', 'audit'] as const;
    this.#returns = new EventReader(bus, { ...readers, kinds });
    this.#fleet = new FleetCounts(ports.databaseUrl);
    exposeMetrics(ports.metrics, {
      bus,
      counts: this.#fleet,
      cache: () => this.#cache,
      holding: () => this.#hold.holding,
      maxMinionLabels: ports.maxMinionLabels ?? MAX_MINION_LABELS,
      traced: ports.traced ?? (() => undefined),
    });
    this.finished = this.#run();
  }

  /** True while jobs and returns are stored as they come. */
  get ready(): boolean {
    const reading = this.#jobs.reading && this.#returns.reading;
    return this.#cache !== undefined && !this.#hold.holding && reading;
  }

  /** What `/status` shows. */
  get status(): object {
    const strays = this.#jobs.strays + this.#returns.strays;
    const resets = this.#jobs.resets + this.#returns.resets;
    return { ...this.#counts.totals, holding: this.#hold.holding, strays, resets };
  }

  /** Stops reading, stores what is in hand, closes. Calling it again returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #run(): Promise<void> {
    const { bus, databaseUrl, keepMs, archive = false } = this.#ports;
    const { log, telemetry, tellCommits } = this.#ports;
    const maxMinionLabels = this.#ports.maxMinionLabels ?? MAX_MINION_LABELS;
    const onMinionsFolded = (): void =>
      log.info({ maxMinionLabels }, 'many minions: metrics do not tell of each any more');
    const onConnectionError = (error: Error): void => log.debug({ err: error }, 'connection lost');
    const connect = this.#ports.connect ?? ((url, options) => JobCache.connect(url, options));
    const cache = await this.#hold.until(
      () =>
        connect(databaseUrl, {
          onConnectionError,
          maxMinionLabels,
          onMinionsFolded,
          keepReturns: this.#ports.keepReturns ?? true,
        }),
      // Nothing is in hand yet: rights or tables that are missing are waited for.
      (error) => isRefused(error) || (error instanceof JobCacheError && error.retryable),
    );
    if (cache === undefined) return this.#giveBack();
    this.#cache = cache;
    const context: StoreContext = (this.#context = {
      cache,
      hold: this.#hold,
      telemetry,
      log,
      counts: this.#counts,
      committed: tellCommits === true ? (seqs) => tellCommitted(bus, seqs) : () => undefined,
      now: () => performance.timeOrigin + performance.now(),
    });
    this.#serve(cache);
    const stopMaintenance = startMaintenance(cache, { keepMs, archive, log });
    try {
      const groups = this.#returns.batches(MAX_GROUP, LINGER_MS);
      const takers = Array.from({ length: GROUPS_IN_HAND }, () => takeReturns(groups, context));
      await Promise.all([takeJobs(this.#jobs, context), ...takers]);
      await this.#keeping;
    } finally {
      await stopMaintenance();
    }
  }

  /** One after the other: there are few, or all of them are. */
  #keepStray(stray: Stray): void {
    const context = this.#context;
    if (context === undefined) return stray.nak(0);
    this.#keeping = this.#keeping.then(() => keepStray(stray, context));
    this.#keeping.catch((error: unknown) => this.#ports.log.fatal({ err: error }, 'not kept'));
  }

  /** What was read ahead while PostgreSQL never came goes back at once, not after the ack wait. */
  async #giveBack(): Promise<void> {
    for await (const job of this.#jobs) job.nak(0);
    for await (const event of this.#returns) event.nak(0);
  }

  #serve(cache: JobCache): void {
    for (const [name, query] of QUERIES) {
      this.#answering.push(
        serve(this.#ports.bus, `brine.jobs.${name}`, (request) => {
          if (!isMap(request)) throw new QueryError('a question is a map');
          const { bus } = this.#ports;
          return query(cache, request, { bus, incarnation: () => this.#returns.incarnation });
        }),
      );
    }
  }

  async #close(): Promise<void> {
    await Promise.all(this.#answering.map((one) => one.close()));
    this.#jobs.close();
    this.#returns.close();
    try {
      await this.finished;
    } finally {
      await this.#fleet.close();
      await this.#cache?.close();
    }
  }
}
