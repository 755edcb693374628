import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { askJetStream, isFull, JS_ERRORS, streamInfo } from '../connection/js-api.ts';
import type { BucketName } from '../subjects/names.ts';
import { BUCKETS, STREAMS } from '../subjects/names.ts';

/** The size limit of the streams, and their number of copies. */
export interface StreamLimits {
  /**
   * Disk for all streams together, in bytes; default 8 GiB. A server with less gets the largest
   * half, quarter … of it that it accepts.
   */
  readonly totalBytes?: number;
  /** Copies of each stream; 1 on a single server, 3 in a cluster. */
  readonly replicas?: number;
  /** How long a repeated sealed request is recognised, in ms; default 24 hours. */
  readonly sealedForMs?: number;
}

/** The shares of the disk. The rest is for the buckets of hot state. */
const SHARES = {
  EVENTS: 0.5,
  PUBLICATIONS: 0.12,
  REACTIONS: 0.03,
  // Some 300 bytes for each waiting job.
  DUE: 0.005,
  brine_kept_bodies: 0.18,
  brine_bodies: 0.09,
};
/** The share of that rest for the writes of minions, some 200 bytes each. */
const ONCE_SHARE = 0.05;
const DEFAULT_TOTAL_BYTES = 8 * 1024 ** 3;
const LEAST_TOTAL_BYTES = 64 * 1024 ** 2;
/** Bodies of requests and replies: no request is older than this. */
const BODY_AGE_MS = 10 * 60_000;
/** Duplicates are recognised for this long; Brine's retries end well before. */
const DUPLICATE_WINDOW_MS = 120_000;
/** Finished requests are remembered for this long: a sender may repeat one. */
const REQUESTS_AGE_MS = 10 * 60_000;
/** A session key usually lives for a day (Salt: publish_session). */
const SEALED_FOR_MS = 86_400_000;
/** No login token lives longer than a year. */
const TOKENS_AGE_MS = 366 * 86_400_000;
/** A one-time code is good for no longer. */
const CODES_AGE_MS = 10 * 60_000;
/** Some 10,000 codes: each takes a local key to make. */
const CODES_BYTES = 4 * 1024 ** 2;
/** Some 200,000 tokens: without a bound, a user with the right to log in could make any number. */
const TOKENS_BYTES = 64 * 1024 ** 2;
/** Some 100,000 sessions of the HTTP API. */
const HTTP_SESSIONS_BYTES = 32 * 1024 ** 2;
/** A client repeats a command of its own name for a day. */
const COMMANDS_AGE_MS = 86_400_000;
/** Some 200,000 commands. */
const COMMANDS_BYTES = 64 * 1024 ** 2;
/** Long work is renewed while a worker lives. After this long without any worker it is dropped. */
const RUNS_AGE_MS = 7 * 86_400_000;
/** Buckets in which some values have a lifetime of their own. */
const FORGETS_SOME: ReadonlySet<BucketName> = new Set([
  'brine_reactor',
  'brine_event_return',
  'brine_http_sessions',
]);

type Config = Readonly<Record<string, unknown> & { name: string }>;

/**
 * Makes the streams and buckets, or changes existing ones; for their owner, event-bus. Several
 * processes may do this at once.
 * @throws BusError `BUS_STREAM_FULL` when the server has no room, `BUS_REFUSED`.
 */
export async function ensureStreams(bus: Bus, limits: StreamLimits = {}): Promise<void> {
  const replicas = limits.replicas ?? 1;
  let totalBytes = limits.totalBytes ?? DEFAULT_TOTAL_BYTES;
  for (;;) {
    try {
      for (const config of configs(totalBytes, replicas, limits)) await ensure(bus, config);
      return;
    } catch (error) {
      const full = error instanceof BusError && error.code === 'BUS_STREAM_FULL';
      if (!full || limits.totalBytes !== undefined || totalBytes <= LEAST_TOTAL_BYTES) throw error;
      totalBytes = Math.floor(totalBytes / 2);
    }
  }
}

/** Those of services with the key of the master; the sessions of the HTTP API are its own. */
const ALL: readonly string[] = [
  STREAMS.events,
  STREAMS.publications,
  STREAMS.reactions,
  STREAMS.due,
  ...BUCKETS.filter((name) => name !== 'brine_http_sessions').map((bucket) => `KV_${bucket}`),
];

/**
 * Waits until the owner has made the streams and buckets. A service without the right to see all of
 * them names those that it needs, or NATS logs an error for each of the others.
 * @throws BusError `BUS_STREAM_AWAY` when the time is up.
 */
export async function waitForStreams(
  bus: Bus,
  { timeoutMs = 30_000, of = ALL }: { timeoutMs?: number; of?: readonly string[] } = {},
): Promise<void> {
  const until = performance.now() + timeoutMs;
  const missing = new Set(of);
  for (;;) {
    for (const stream of missing) {
      const found = await streamInfo(bus, stream).catch((error: unknown) => {
        if (error instanceof BusError && error.code === 'BUS_FORBIDDEN') return 'not mine';
        if (error instanceof BusError && error.retryable) return undefined;
        throw error;
      });
      // A service without the right to see a stream does not need it.
      if (found !== undefined) missing.delete(stream);
    }
    if (missing.size === 0) return;
    if (performance.now() > until) {
      const text = `not there yet: ${[...missing].join(', ')} (event-bus makes them)`;
      throw new BusError('BUS_STREAM_AWAY', text);
    }
    await sleep(100);
  }
}

/** After this long a bucket forgets a value, in ms; without an entry never. */
function bucketAges(sealedForMs: number): Readonly<Partial<Record<BucketName, number>>> {
  return {
    brine_requests: REQUESTS_AGE_MS,
    brine_tokens: TOKENS_AGE_MS,
    brine_codes: CODES_AGE_MS,
    brine_http_sessions: TOKENS_AGE_MS,
    brine_once: sealedForMs,
    brine_runs: RUNS_AGE_MS,
    brine_commands: COMMANDS_AGE_MS,
  };
}

function configs(
  totalBytes: number,
  replicas: number,
  { sealedForMs = SEALED_FOR_MS }: StreamLimits,
): readonly Config[] {
  const base = {
    storage: 'file',
    num_replicas: replicas,
    max_msgs: -1,
    max_msgs_per_subject: -1,
    max_msg_size: -1,
    max_consumers: -1,
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    max_age: 0,
    // Only limits retention still recognises duplicates after a restart.
    retention: 'limits',
    discard: 'new',
    // A replica may be behind; one server never is.
    allow_direct: true,
  };
  const stream = (name: keyof typeof SHARES, roots: readonly string[]): Config => ({
    ...base,
    name,
    subjects: roots.map((root) => `${root}.>`),
    max_bytes: Math.floor(totalBytes * SHARES[name]),
  });
  const ages = bucketAges(sealedForMs);
  const bytes: Readonly<Partial<Record<BucketName, number>>> = {
    brine_tokens: TOKENS_BYTES,
    brine_codes: CODES_BYTES,
    brine_http_sessions: HTTP_SESSIONS_BYTES,
    brine_commands: COMMANDS_BYTES,
    brine_once: Math.floor(totalBytes * ONCE_SHARE),
  };
  return [
    stream(STREAMS.events, ['brine.events']),
    stream(STREAMS.publications, ['brine.publications']),
    // A queue: finished work is removed at once, however long the work before it still takes.
    { ...stream(STREAMS.reactions, ['brine.reactions']), retention: 'workqueue' },
    // A stream of its own: reactions that others cause must not delay the schedule.
    { ...stream(STREAMS.due, ['brine.due']), retention: 'workqueue' },
    stream(STREAMS.keptBodies, ['brine.kept']),
    {
      ...stream(STREAMS.bodies, ['brine.bodies']),
      max_age: nanos(BODY_AGE_MS),
      discard: 'old',
    },
    ...BUCKETS.map((bucket) => ({
      ...base,
      // Forget the oldest requests rather than refuse a new one.
      ...(bucket === 'brine_once' ? { discard: 'old' } : {}),
      name: `KV_${bucket}`,
      subjects: [`$KV.${bucket}.>`],
      max_bytes: bytes[bucket] ?? -1,
      max_msgs_per_subject: 1,
      max_age: nanos(ages[bucket] ?? 0),
      allow_rollup_hdrs: true,
      ...(FORGETS_SOME.has(bucket) ? { allow_msg_ttl: true } : {}),
      deny_delete: true,
      // With copies, reads go to the leader: it has every write that was acknowledged.
      allow_direct: replicas === 1,
    })),
  ];
}

async function ensure(bus: Bus, config: Config): Promise<void> {
  const existing = await streamInfo(bus, config.name);
  if (existing === undefined) {
    const made = await askJetStream(bus, `STREAM.CREATE.${config.name}`, config, 15_000);
    if (made.ok) return;
    if (made.number !== JS_ERRORS.streamNameInUse) throw refused('make', config, made);
    // Another process made it in between, so compare it with the wanted one.
  }
  const current = existing ?? (await streamInfo(bus, config.name));
  const wanted = { ...config, max_bytes: neverBelow(current?.bytes ?? 0, config) };
  if (sameConfig(current?.config ?? {}, wanted)) return;
  const changed = await askJetStream(bus, `STREAM.UPDATE.${config.name}`, wanted, 15_000);
  if (!changed.ok) throw refused('change', config, changed);
}

/** Keeps the room of a stream that is fuller than its new limit: it would refuse everything. */
function neverBelow(bytes: number, config: Config): number {
  const wanted = Number(config['max_bytes']);
  return wanted === -1 ? -1 : Math.max(wanted, Math.ceil(bytes * 1.25));
}

function sameConfig(have: Readonly<Record<string, unknown>>, want: Config): boolean {
  return Object.entries(want).every(([key, value]) => {
    return JSON.stringify(have[key] ?? absent(value)) === JSON.stringify(value);
  });
}

/** The server leaves out what is false or zero. */
function absent(value: unknown): unknown {
  return typeof value === 'boolean' ? false : typeof value === 'number' ? 0 : undefined;
}

function refused(
  act: string,
  config: Config,
  answer: { readonly number: number; readonly text: string },
): BusError {
  const code = isFull(answer.number) ? 'BUS_STREAM_FULL' : 'BUS_REFUSED';
  return new BusError(code, `could not ${act} ${config.name}: ${answer.text} (${answer.number})`);
}

function nanos(ms: number): number {
  return ms * 1_000_000;
}
