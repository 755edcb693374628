import { createHash } from 'node:crypto';
import type { Bus } from '@brine/bus';
import { handleEach } from '@brine/bus';
import type { EventMessage } from '@brine/bus/events';
import { EventReader } from '@brine/bus/events';
import { type JobMessage, PublicationReader, serveJobFiles } from '@brine/bus/jobs';
import type { JobFiles } from '@brine/cachedir';
import { INNER_KINDS, publishingPart } from '@brine/job';
import { eachAtOnce, type Trouble } from '@brine/tasks';
import { nowMs, type Telemetry } from '@brine/telemetry';
import { EventFeed } from './event-feed.ts';
import { JobFeed } from './job-feed.ts';
import type { Readers } from './readers.ts';
import { ReturnFiles } from './return-files.ts';

/** The parts and settings of a host's feeds. */
export interface FeedsOptions {
  readonly bus: Bus;
  readonly files: JobFiles;
  readonly readers: Readers;
  readonly host: string;
  /** When readers could connect first, in unix ms. */
  readonly sinceMs: number;
  readonly maxEventSize: number;
  /** How long a return waits for the `new` event of its job, in ms; default 1 s. */
  readonly returnWaitMs?: number | undefined;
  /** As `open` of {@link EventFeed}. */
  readonly open?: ((tag: string, body: Uint8Array) => Uint8Array | undefined) | undefined;
  /** Records each event as it comes, while `wanted`. */
  readonly times?: { readonly wanted: boolean; saw(event: EventMessage): void };
  readonly spans: Pick<Telemetry, 'recordSpan'>;
  /** True if local tools look for jobs in files (`master_job_cache: local_cache`). */
  readonly jobFiles: boolean;
  /** Also write `return.p` of every return. */
  readonly returnFiles: boolean;
  /** Also keep the time of each job's last return. */
  readonly endTimes: boolean;
  readonly onTrouble: Trouble;
  /** The feed of a stream has ended for good. */
  readonly onFailure: (error: unknown) => void;
}

/** The running feeds. */
export interface Feeds {
  readonly reading: boolean;
  status(): object;
  /** Gives its place in the streams to a successor, and serves the connected readers on. */
  yield(): Promise<void>;
  close(): Promise<void>;
}

/** A host that is absent this long loses its place: it must not block the purge for ever. */
const FORGET_AFTER_MS = 24 * 3600 * 1000;
/** A new host reads back this far, so that it misses no job of its first second. */
const FIRST_LOOK_BACK_MS = 60_000;
/** The clocks of this host and of the NATS server may differ by this much. */
const CLOCK_SLACK_MS = 1_000;
/** Jobs whose files are being written at the same time. */
const JOBS_AT_ONCE = 8;
/** Events of one batch for readers that have connected meanwhile. */
const EVENTS_AT_ONCE = 256;

/**
 * Reads the streams for one host: jobs to files and readers, events to readers, returns to files.
 */
export function startFeeds(options: FeedsOptions): Feeds {
  const { bus, files, readers, onTrouble } = options;
  const token = hostToken(options.host);
  const events = new EventFeed({
    readers,
    files,
    maxEventSize: options.maxEventSize,
    returnWaitMs: options.returnWaitMs,
    open: options.open,
    onTrouble,
  });
  const jobs = new JobFeed({
    files: options.jobFiles ? files : undefined,
    readers,
    announceSinceMs: options.sinceMs - CLOCK_SLACK_MS,
    writer: `host:${options.host}`,
    announced: (jid) => events.announced(jid),
    onTrouble: (jid, error) => onTrouble(`files of job ${jid} could not be written`, error),
  });
  const asked = serveJobFiles(bus, options.host, (jid) => jobs.filesOf(jid));
  let publications = new PublicationReader(bus, {
    kinds: ['job'],
    durable: `host-${token}`,
    from: { timeMs: options.sinceMs - FIRST_LOOK_BACK_MS },
    forgetAfterMs: FORGET_AFTER_MS,
  });
  // No durable place: readers get no event from before they connected.
  const live = new EventReader(bus, { from: { timeMs: options.sinceMs - CLOCK_SLACK_MS } });
  const place = { seq: 0 };
  let takingJobs = runJobs(publications, jobs, options, place);
  const running = [takingJobs, runEvents(live, events, options)];
  const returns = options.returnFiles ? returnFeed(options, token) : undefined;
  if (returns !== undefined) running.push(returns.files.run());
  let yielded: Promise<void> | undefined;
  const yieldPlace = async (): Promise<void> => {
    returns?.stop();
    publications.close();
    await takingJobs;
    // From here on without a durable place: this process and its successor both get every job, and
    // write the same files.
    const from = place.seq > 0 ? { seq: place.seq + 1 } : { timeMs: options.sinceMs };
    publications = new PublicationReader(bus, { kinds: ['job'], from });
    takingJobs = runJobs(publications, jobs, options, place);
    takingJobs.catch(options.onFailure);
    running.push(takingJobs);
  };
  for (const run of running) run.catch(options.onFailure);
  return {
    get reading() {
      return publications.reading && live.reading;
    },
    status: () => ({
      jobs: jobs.stats(),
      events: events.stats(),
      ...(returns && { returns: returns.files.stats() }),
      resets: publications.resets + live.resets,
    }),
    yield: () => (yielded ??= yieldPlace()),
    close: async () => {
      await yielded;
      publications.close();
      live.close();
      returns?.stop();
      await Promise.allSettled([...running, asked.close()]);
      events.close();
    },
  };
}

/** Writes the returns of the stream to the files of this host. */
function returnFeed(
  { bus, files, sinceMs, endTimes, onTrouble }: FeedsOptions,
  token: string,
): { readonly files: ReturnFiles; readonly stop: () => void } {
  const reader = new EventReader(bus, {
    kinds: ['ret', 'run'],
    durable: `returns-${token}`,
    from: { timeMs: sinceMs - FIRST_LOOK_BACK_MS },
    forgetAfterMs: FORGET_AFTER_MS,
  });
  const written = new ReturnFiles({
    files,
    reader,
    endTimes,
    onTrouble: (error) => onTrouble('a return could not be written', error),
  });
  return { files: written, stop: () => reader.close() };
}

async function runJobs(
  publications: PublicationReader,
  jobs: JobFeed,
  options: FeedsOptions,
  place: { seq: number },
): Promise<void> {
  await eachAtOnce(publications, JOBS_AT_ONCE, async (published) => {
    place.seq = published.seq;
    if (published.kind !== 'job') return;
    await handleJob(jobs, published, options).catch((error: unknown) => published.failed(error));
  });
}

async function handleJob(
  jobs: JobFeed,
  published: JobMessage,
  { spans, host }: FeedsOptions,
): Promise<void> {
  const startMs = nowMs();
  await jobs.handle(published.job, published);
  const { jid, piece } = published.job;
  spans.recordSpan({
    name: 'announce',
    jid,
    part: publishingPart(`announce.${host}`, piece),
    parentPart: publishingPart('record', piece),
    startMs,
    endMs: nowMs(),
  });
}

function runEvents(
  live: EventReader,
  events: EventFeed,
  { readers, times }: FeedsOptions,
): Promise<void> {
  const isWanted = (): boolean => readers.count > 0 || times?.wanted === true;
  return handleEach(afterArrivals(live, events, readers, isWanted), (event) => {
    if (INNER_KINDS.has(event.kind)) return;
    times?.saw(event);
    return events.handle(event);
  });
}

/**
 * Yields the events. Each waits until the tools that connected before it are readers: a tool may
 * have caused it. Returns are not even read while no reader is connected and no times are recorded.
 */
async function* afterArrivals(
  live: EventReader,
  events: EventFeed,
  readers: Readers,
  isWanted: () => boolean,
): AsyncGenerator<EventMessage> {
  for await (const messages of live.unread(EVENTS_AT_ONCE)) {
    await readers.arrivals();
    for (const message of messages) {
      if (message.kind === 'ret' && !isWanted()) events.passed(message.count);
      else yield* message.read();
    }
  }
}

/** A host's name as part of a durable place's name; unique even if characters were replaced. */
export function hostToken(host: string): string {
  const plain = host.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60);
  if (plain === host) return plain;
  return `${plain}-${createHash('sha256').update(host).digest('hex').slice(0, 8)}`;
}
