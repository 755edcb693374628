import type { Bus, Stray } from '@brine/bus';
import { connectBus } from '@brine/bus';
import { announceCommits, EventReader } from '@brine/bus/events';
import { PublicationReader } from '@brine/bus/jobs';
import { answerRoll, serve } from '@brine/bus/rpc';
import type { QuarantineRow, Refusal, RefusedRow } from '@brine/job-cache';
import { FleetCounts, isRefused, JobCache, JobCacheError } from '@brine/job-cache';
import { openPython } from '@brine/python-host';
import {
  type Metrics,
  natsOf,
  postgresUrlOf,
  Releasers,
  type RunningService,
  type ServiceContext,
  type TracedJob,
  tracedJobs,
} from '@brine/service';
import type { StoreContext } from '@brine/storing';
import { keepStray, OutageRetry, takeJobs, takeReturns } from '@brine/storing';
import type { Log, Telemetry } from '@brine/telemetry';
import { isMap } from '@brine/wire';
import { openEventReturn } from './adapters/event-return/open-event-return.ts';
import { type Maintenance, startMaintenance } from './adapters/maintenance.ts';
import { exposeMetrics } from './adapters/metrics.ts';
import { QUERIES, QueryError } from './adapters/queries/queries.ts';
import { StoreMetrics } from './adapters/store-metrics.ts';

/** Name of both durable consumers: processes share the streams under it. */
const DURABLE = 'store';

/** Events of one group; the statements are further split by bytes. */
const MAX_GROUP = 500;
/**
 * How long a group waits for more, in ms. No reply depends on the store by default, and a statement
 * for a few rows costs PostgreSQL and this process as much as one for fifty.
 */
const LINGER_MS = 20;
/** Groups in flight at once: one waits for PostgreSQL while the next is made ready. */
const GROUPS_IN_FLIGHT = 2;
/**
 * Longer than a statement of 50 MB takes, so that only messages of a dead process are redelivered.
 */
const ACK_WAIT_MS = 30_000;
/** Messages in flight of all processes together. */
const MAX_ACK_PENDING = 4_000;

/** Minions that have metrics of their own by default: two series each. */
const MAX_MINION_LABELS = 500;
/** The same by `brine.metrics.per_minion`; there is always a bound. */
const MINION_LABELS = { never: 0, auto: MAX_MINION_LABELS, always: 5_000 } as const;

/** Connects to NATS and PostgreSQL and stores jobs and returns as they come, until closed. */
export async function startReturner(context: ServiceContext): Promise<RunningService> {
  const { options, log, telemetry, metrics, signal } = context;
  const databaseUrl = postgresUrlOf(context);
  const releasers = new Releasers();
  const bus = answerRoll(await connectBus(natsOf(context, 'job-cache-returner')), context.report);
  releasers.add(() => bus.close());
  const keepMs = options.keepJobsSeconds * 1000;
  const returner: Returner = new Returner({
    returnEvent: (row) => events.again(row),
    bus,
    databaseUrl,
    keepMs,
    // Salt: salt/utils/job.py store_job returns before it stores anything.
    keepReturns: options.jobCache && options.extJobCache === '',
    archive: options.archiveJobs,
    log,
    telemetry,
    metrics,
    signal,
    maxMinionLabels: MINION_LABELS[options.brine.metrics.perMinion],
    announcesCommits: options.brine.ack === 'store',
    traced: tracedJobs(options),
  });
  releasers.add(() => returner.close());
  returner.finished.catch(context.fail);
  const python = openPython(options, (level, text) => log[level](text));
  releasers.add(() => python?.close());
  const events = openEventReturn({
    bus,
    options,
    databaseUrl,
    log,
    metrics,
    signal,
    python,
    putAway: (refusal, error) => returner.putAway(refusal, error),
    count: () => returner.countPutAway('event'),
    connected: returner.connected,
  });
  releasers.add(() => events.close());
  return {
    close: () => releasers.run(),
    ready: () => bus.status === 'connected' && returner.ready,
    status: () => ({ bus: bus.status, ...returner.status, eventReturn: events.status() }),
  };
}

/** The parts of the returner. */
export interface ReturnerPorts {
  readonly bus: Bus;
  readonly databaseUrl: string;
  /** History is kept this long, in ms; 0 keeps all. */
  readonly keepMs: number;
  /** False: returns are counted, their content is not stored. Default true. */
  readonly keepReturns?: boolean;
  /** True: older history goes to the archive. Default false: it is dropped. */
  readonly archive?: boolean;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'recordSpan'>;
  readonly metrics: Metrics;
  /** Above this number minions have no metrics of their own; default 500. */
  readonly maxMinionLabels?: number;
  /** True if workers wait for commits (`brine.ack: store`). */
  readonly announcesCommits?: boolean;
  /** The trace of a job; without it metrics have no exemplars. */
  readonly traced?: TracedJob;
  /** Aborted at a stop: unstored messages then go back to the stream. */
  readonly signal: AbortSignal;
  /** Without an acknowledgement the stream delivers again after this, in ms; 30,000. */
  readonly ackWaitMs?: number;
  /** Passes an event from quarantine to its returner again. Default: no returners. */
  readonly returnEvent?: (row: QuarantineRow) => Promise<boolean>;
  /** Opens the database; another one in the simulation. */
  readonly connect?: typeof JobCache.connect;
}

const notReturned = (): Promise<boolean> => Promise.resolve(false);

/** The store of jobs and returns, from the streams to PostgreSQL. */
export class Returner {
  readonly #ports: ReturnerPorts;
  readonly #backoff: OutageRetry;
  readonly #counts: StoreMetrics;
  readonly #jobs: PublicationReader;
  readonly #returns: EventReader;
  #takesQuestions = false;
  readonly #fleet: FleetCounts;
  /** Resolves once the database has its tables, or this has ended; never rejects. */
  readonly connected: Promise<void>;
  #connected: () => void = () => undefined;
  #cache: JobCache | undefined;
  #context: StoreContext | undefined;
  #maintenance: Maintenance | undefined;
  /** Ends when all strays so far are kept. */
  #keeping: Promise<void> = Promise.resolve();
  readonly #releasers = new Releasers();
  /** Resolves when everything has ended; rejects with a fault that a retry can not repair. */
  readonly finished: Promise<void>;

  /** Starts at once; PostgreSQL may come later. */
  constructor(ports: ReturnerPorts) {
    const { bus, log } = ports;
    this.#ports = ports;
    this.#counts = new StoreMetrics(ports.metrics, log);
    this.#backoff = new OutageRetry(
      {
        onOutage: (error) => log.error({ err: error }, 'PostgreSQL is unreachable: returns wait'),
        onRecovered: (seconds) => log.info({ seconds }, 'PostgreSQL is back'),
      },
      ports.signal,
    );
    const place = {
      durable: DURABLE,
      ackWaitMs: ports.ackWaitMs ?? ACK_WAIT_MS,
      maxAckPending: MAX_ACK_PENDING,
    };
    this.#releasers.add(() => this.#cache?.close());
    this.#fleet = new FleetCounts(ports.databaseUrl);
    this.#releasers.add(() => this.#fleet.close());
    // The messages in flight are stored before the database is closed.
    this.#releasers.add(() => this.finished);
    const readers = { ...place, keepStray: (stray: Stray) => this.#keepStray(stray) };
    this.#jobs = new PublicationReader(bus, { ...readers, kinds: ['job'] });
    this.#releasers.add(() => this.#jobs.close());
    const kinds = ['ret', 'run', 'auth', 'sighting', 'audit'] as const;
    this.#returns = new EventReader(bus, { ...readers, kinds });
    this.#releasers.add(() => this.#returns.close());
    exposeMetrics(ports.metrics, {
      bus,
      counts: this.#fleet,
      cache: () => this.#cache,
      away: () => this.#backoff.waiting,
      maxMinionLabels: ports.maxMinionLabels ?? MAX_MINION_LABELS,
      traced: ports.traced ?? (() => undefined),
    });
    this.connected = new Promise((resolve) => (this.#connected = resolve));
    this.finished = this.#run().finally(() => this.#connected());
  }

  /** True while jobs and returns are stored as they come, and questions are answered. */
  get ready(): boolean {
    const reading = this.#jobs.reading && this.#returns.reading;
    return this.#takesQuestions && !this.#backoff.waiting && reading;
  }

  /** The content of `/status`. */
  get status(): object {
    const strays = this.#jobs.strays + this.#returns.strays;
    const resets = this.#jobs.resets + this.#returns.resets;
    const ran = this.#maintenance?.status() ?? {};
    return { ...this.#counts.totals, holding: this.#backoff.waiting, strays, resets, ...ran };
  }

  /**
   * Quarantines a row that another part of this service refused. Throws JobCacheError for outages.
   */
  async putAway(refusal: Refusal, error: unknown): Promise<RefusedRow> {
    return this.#present().quarantine(refusal, error);
  }

  /** The number of rows of a kind in quarantine. Throws JobCacheError. */
  async countPutAway(kind: RefusedRow['kind']): Promise<number> {
    return (await this.#present().quarantined.list({ kind }, 1)).total;
  }

  /** Stops reading, stores the messages in flight, closes. Idempotent. */
  close(): Promise<void> {
    return this.#releasers.run();
  }

  #present(): JobCache {
    if (this.#cache !== undefined) return this.#cache;
    throw new JobCacheError('SALT_JOBCACHE_AWAY', 'PostgreSQL was not there yet');
  }

  async #run(): Promise<void> {
    const { bus, databaseUrl, keepMs, archive = false } = this.#ports;
    const { log, telemetry, announcesCommits } = this.#ports;
    const maxMinionLabels = this.#ports.maxMinionLabels ?? MAX_MINION_LABELS;
    const onMinionsFolded = (): void =>
      log.info({ maxMinionLabels }, 'many minions: metrics count further ones as other');
    const onConnectionError = (error: Error): void => log.debug({ err: error }, 'connection lost');
    const connect = this.#ports.connect ?? ((url, options) => JobCache.connect(url, options));
    const cache = await this.#backoff.retry(
      () =>
        connect(databaseUrl, {
          onConnectionError,
          maxMinionLabels,
          onMinionsFolded,
          keepReturns: this.#ports.keepReturns ?? true,
        }),
      // Nothing is in flight yet: wait for missing rights or tables too.
      (error) => isRefused(error) || (error instanceof JobCacheError && error.retryable),
    );
    if (cache === undefined) return this.#giveBack();
    this.#cache = cache;
    this.#connected();
    const context: StoreContext = (this.#context = {
      cache,
      backoff: this.#backoff,
      telemetry,
      counts: this.#counts,
      committed: announcesCommits === true ? (seqs) => announceCommits(bus, seqs) : () => undefined,
      now: () => performance.timeOrigin + performance.now(),
    });
    this.#serve(cache);
    // If the connection breaks here, it subscribes again by itself when it is back.
    const taken = (): boolean => (this.#takesQuestions = true);
    void bus.flush().then(taken, taken);
    const maintenance = startMaintenance(cache, { keepMs, archive, log });
    this.#maintenance = maintenance;
    try {
      const groups = this.#returns.batches(MAX_GROUP, LINGER_MS);
      const takers = Array.from({ length: GROUPS_IN_FLIGHT }, () => takeReturns(groups, context));
      await Promise.all([takeJobs(this.#jobs, context), ...takers]);
      await this.#keeping;
    } finally {
      await maintenance.close();
    }
  }

  /** One at a time: strays are few, or every message is one. */
  #keepStray(stray: Stray): void {
    const context = this.#context;
    if (context === undefined) return stray.nak(0);
    this.#keeping = this.#keeping.then(() => keepStray(stray, context));
    this.#keeping.catch((error: unknown) => this.#ports.log.fatal({ err: error }, 'not kept'));
  }

  /**
   * Gives back messages that were read ahead if PostgreSQL never came, without waiting for the ack.
   */
  async #giveBack(): Promise<void> {
    for await (const job of this.#jobs) job.nak(0);
    for await (const event of this.#returns) event.nak(0);
  }

  #serve(cache: JobCache): void {
    const { bus, returnEvent = notReturned } = this.#ports;
    const incarnation = (): string | undefined => this.#returns.incarnation;
    const answering = Array.from(QUERIES, ([name, query]) =>
      serve(bus, `brine.jobs.${name}`, (request) => {
        if (!isMap(request)) throw new QueryError('a question is a map');
        return query(cache, request, { bus, incarnation, returnEvent });
      }),
    );
    this.#releasers.add(async () => void (await Promise.all(answering.map((one) => one.close()))));
  }
}
