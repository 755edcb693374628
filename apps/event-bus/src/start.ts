import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Bucket, type Bus, connectBus, ensureStreams } from '@brine/bus';
import { makeConsumers } from '@brine/bus/apart';
import { EventWriter } from '@brine/bus/events';
import { answerRoll } from '@brine/bus/rpc';
import {
  BatchFiles,
  dialectOf,
  findInstalledSalt,
  type InstalledSalt,
  JobFiles,
  type SocketDialect,
} from '@brine/cachedir';
import { RunOffers } from '@brine/cluster-work';
import { type PrivateKey, RecordMac, SealedText, SecretBox } from '@brine/crypt';
import { type Feeds, LocalEvents, Readers, startFeeds } from '@brine/host';
import type { Event } from '@brine/job';
import { BucketTokens } from '@brine/master-state';
import { loadOrCreateMasterKeys, masterKeyOptions } from '@brine/pki';
import { MANAGE_PURPOSE } from '@brine/reactor';
import {
  natsOf,
  Releasers,
  type RunningService,
  type ServiceContext,
  tagPrefixCounter,
} from '@brine/service';
import { boundSocket } from '@brine/service/processes';
import { SECRET_RETURN } from '@brine/wire/load';
import { eventDoor } from './adapters/event-door.ts';
import { startHostBanks } from './adapters/host-banks.ts';
import { HostBatches } from './adapters/host-batches.ts';
import { HostSockets } from './adapters/host-sockets.ts';
import { startHousekeeping } from './adapters/housekeeping.ts';
import { type HostKeys, startHostKeys } from './adapters/keys/host-keys.ts';
import { LocalKeys } from './adapters/local-keys.ts';
import { exposeMetrics } from './adapters/metrics.ts';
import { MinionTimes } from './adapters/minion-times.ts';
import { neededEvents } from './adapters/needed-events.ts';
import { openSecretReturn } from './adapters/secret-returns.ts';

/**
 * Directories of the cachedir that a stock master makes at its start and that stock tools rely on:
 * `salt-run` writes each run into `proc` (Salt: salt/client/mixins.py).
 */
const STOCK_DIRS = ['proc', 'jobs', 'syndics', 'tokens'] as const;

/** `brine.metrics.per_minion`: the minions that have times as metrics. */
const MINION_TIMES = { never: 0, auto: 500, always: 5_000 } as const;

type MasterOptions = ServiceContext['options'];
type Trouble = (text: string, error?: unknown) => void;

/** Settings that only tests change. */
export interface EventBusSettings {
  /** How long a return waits for the `new` event of its job, in ms; default 1 s. */
  readonly returnWaitMs?: number;
}

/**
 * Starts the event bus of a host. The order matters. The sockets are open within milliseconds of a
 * restart, and the streams exist before a service may write. The service is ready when files, keys
 * and feeds are in place.
 */
export async function startEventBus(
  context: ServiceContext,
  settings: EventBusSettings = {},
): Promise<RunningService> {
  const { options, log } = context;
  const releasers = new Releasers();
  try {
    return await start(context, settings, releasers);
  } catch (error) {
    await releasers.run();
    log.error({ host: options.brine.host }, 'event bus did not start');
    throw error;
  }
}

async function start(
  context: ServiceContext,
  settings: EventBusSettings,
  releasers: Releasers,
): Promise<RunningService> {
  const { options, log } = context;
  const startedMs = Date.now();
  const trouble = (text: string, err?: unknown): void => log.warn({ err }, text);

  const connecting = connectBus(natsOf(context, 'event-bus'));
  const localKeys = await LocalKeys.open(options.cachedir, options.user, trouble);
  releasers.add(() => localKeys.close());
  const files = new JobFiles({ cachedir: options.cachedir, hashType: options.hashType });
  const local = localEvents(context, { connecting, keys: localKeys, files }, trouble);
  const salt = findInstalledSalt(context.env['PATH'] ?? '');
  const sockets = await openSockets(options, salt, local, trouble);
  releasers.add(() => sockets.close());
  log.info({ salt: salt?.version, sockDir: options.sockDir }, 'event sockets are served');

  const bus = answerRoll(await connecting, context.report);
  releasers.add(() => bus.close());
  releasers.add(() => local.drained());
  await prepare(bus, options);
  releasers.add(makeConsumers(bus));
  const known = { accepted: (): Iterable<string> => [] };
  const times = new MinionTimes(
    () => known.accepted(),
    MINION_TIMES[options.brine.metrics.perMinion],
  );
  const readers = new Readers(sockets.readerSockets, options.maxEventSize);
  const batches = await hostBatches(context, bus, files);
  releasers.add(() => batches.close());
  const hasSalt = salt !== undefined;
  const returns = SealedText.fromMasterKey(await masterKeyOf(options), SECRET_RETURN);
  const parts = { bus, files, readers, times, batches, returns, startedMs, hasSalt, ...settings };
  const feeds = feedsOf(context, parts);
  releasers.add(() => feeds.close());
  const forOne = new Releasers();
  releasers.add(() => forOne.run());
  const { keys, ...duties } = await startForOne(context, { bus, files, salt, forOne, trouble });
  known.accepted = keys.accepted;
  times.expose(context.metrics);

  const { keyMadeMs } = keys;
  const measured = exposeMetrics(context.metrics, { bus, readers, local, keyMadeMs });
  releasers.add(measured.close);
  return {
    yield: async () => {
      await forOne.run();
      await feeds.yield();
    },
    leave: () => sockets.left(context.signal),
    close: () => releasers.run(),
    ready: () => bus.status === 'connected' && feeds.reading && keys.inStep(),
    status: () => ({
      bus: bus.status,
      salt: salt?.version,
      readers: readers.count,
      sockets: sockets.status(),
      feeds: { ...readers.stats(), ...feeds.status() },
      local: local.stats(),
      keys: keys.status(),
      ...duties.status(),
      ...measured.status(),
    }),
  };
}

interface ForOneParts {
  readonly bus: Bus;
  readonly files: JobFiles;
  readonly salt: InstalledSalt | undefined;
  readonly forOne: Releasers;
  readonly trouble: Trouble;
}

/** The tasks that only one process of a host may run: a successor takes them over first. */
async function startForOne(
  context: ServiceContext,
  { bus, files, salt, forOne, trouble }: ForOneParts,
): Promise<{ readonly keys: HostKeys; readonly status: () => object }> {
  const { options, log, signal } = context;
  const keys = await startHostKeys(context, bus, forOne, trouble);
  const housekeeping = startHousekeeping({
    bus,
    files,
    signal,
    keepJobsSeconds: options.keepJobsSeconds,
    eventsKeepSeconds: options.brine.eventsKeep,
    needed: () => neededEvents(new Bucket(bus, 'brine_event_return').entries(), Date.now()),
    onTrouble: trouble,
    onRelief: (text) => log.info(text),
  });
  forOne.add(() => housekeeping.close());
  const banks = await startHostBanks(context, { bus, salt, keys, onTrouble: trouble });
  forOne.add(() => banks?.close());
  return {
    keys,
    status: () => ({
      housekeeping: housekeeping.status(),
      ...(banks === undefined ? {} : { banks: banks.status() }),
    }),
  };
}

/** The sockets of this host; the options set their mode and their framing. */
function openSockets(
  options: MasterOptions,
  salt: InstalledSalt | undefined,
  local: LocalEvents,
  onTrouble: Trouble,
): Promise<HostSockets> {
  return HostSockets.open({
    sockDir: options.sockDir,
    dialect: chooseDialect(options.brine.eventFraming, salt),
    readableByGroup: hasEntries(options.publisherAcl) || hasEntries(options.externalAuth),
    onEvent: local.take,
    onTrouble,
    socket: boundSocket,
  });
}

/** The streams, and the directories that stock tools rely on. */
async function prepare(bus: Bus, options: MasterOptions): Promise<void> {
  const { streamBytes, streamReplicas } = options.brine;
  await ensureStreams(bus, {
    replicas: streamReplicas,
    sealedForMs: sealedForMs(options),
    ...(streamBytes > 0 ? { totalBytes: streamBytes } : {}),
  });

  for (const name of STOCK_DIRS) {
    await mkdir(join(options.cachedir, name), { recursive: true, mode: 0o750 });
  }
}

interface FeedParts extends EventBusSettings {
  readonly bus: Bus;
  readonly files: JobFiles;
  readonly readers: Readers;
  readonly times: MinionTimes;
  readonly batches: HostBatches;
  readonly returns: SealedText;
  readonly startedMs: number;
  /** True if a Salt is installed whose tools read returns. */
  readonly hasSalt: boolean;
}

function feedsOf(context: ServiceContext, parts: FeedParts): Feeds {
  const { options, log } = context;
  const { bus, files, readers, times, batches, returns } = parts;
  return startFeeds({
    bus,
    files,
    readers,
    host: options.brine.host,
    sinceMs: parts.startedMs,
    maxEventSize: options.maxEventSize,
    returnWaitMs: parts.returnWaitMs,
    open: (tag, body) => openSecretReturn(returns, tag, body),
    times: {
      get wanted() {
        return times.wanted;
      },
      saw: (event) => {
        times.saw(event);
        batches.saw(event);
      },
    },
    spans: context.telemetry,
    ...keptFiles(options, parts.hasSalt, log),
    onTrouble: (text, err) => log.warn({ err }, text),
    onFailure: context.fail,
  });
}

/** Batches that stock tools of this host look at, or hand over. */
async function hostBatches(
  { options, log }: ServiceContext,
  bus: Bus,
  jobs: JobFiles,
): Promise<HostBatches> {
  const { pkiDir, keysize, cachedir, brine } = options;
  const keys = await loadOrCreateMasterKeys(pkiDir, keysize, masterKeyOptions(options));
  const box = SecretBox.fromMasterKey(keys.privateKey, 'runs');
  const offers = new RunOffers(new Bucket(bus, 'brine_runs'), box);
  const batches = new HostBatches({
    files: new BatchFiles(jobs, cachedir),
    host: brine.host,
    offer: (jid, data, call) => offers.offer('batch', jid, { data, call }),
    onTrouble: (text, err) => log.warn({ err }, text),
    onAdopted: (jid, user) => log.info({ jid, user }, 'a batch of a stock command is adopted'),
  });
  batches.start();
  return batches;
}

async function masterKeyOf(options: MasterOptions): Promise<PrivateKey> {
  const { pkiDir, keysize } = options;
  return (await loadOrCreateMasterKeys(pkiDir, keysize, masterKeyOptions(options))).privateKey;
}

interface LocalEventsParts {
  readonly connecting: Promise<Bus>;
  readonly keys: LocalKeys;
  readonly files: JobFiles;
}

function localEvents(
  { options, metrics }: ServiceContext,
  { connecting, keys, files }: LocalEventsParts,
  onTrouble: Trouble,
): LocalEvents {
  const fired = tagPrefixCounter(metrics);
  const taken = metrics.counter(
    'brine_event_bus_secrets_total',
    'Local keys, live tokens and secrets of runs that were taken out of events of local tools.',
  );
  // Made here, at 0: the first step of a missing counter would not show.
  const taking = {
    key: taken.of({ kind: 'key' }),
    token: taken.of({ kind: 'token' }),
    run: taken.of({ kind: 'run' }),
  };
  // Events that are fired before the streams exist wait for them; the socket queues the rest.
  const writer = connecting.then((bus) => new EventWriter(bus, { timeoutMs: 30_000 }));
  // A failure to connect is thrown to those that await the connection.
  writer.catch(() => undefined);
  // Read once, and only for the first event that needs it: the sockets must open at once.
  let reading: Promise<PrivateKey> | undefined;
  const masterKey = (): Promise<PrivateKey> => (reading ??= masterKeyOf(options));
  const append = async (event: Event): Promise<unknown> => {
    const appended = await (await writer).append(event);
    fired(event.tag);
    return appended;
  };
  const door = eventDoor({
    keys,
    mac: async () => RecordMac.fromMasterKey(await masterKey(), MANAGE_PURPOSE),
    isToken: async (text) => {
      const box = SecretBox.fromMasterKey(await masterKey(), 'token');
      const tokens = new BucketTokens(new Bucket(await connecting, 'brine_tokens'), box);
      return (await tokens.find(text)) !== undefined;
    },
    onSecret: (kind) => taking[kind].add(1),
    forget: (jid) => {
      files.remove(jid).catch((err: unknown) => onTrouble('files of a run stay', err));
    },
  });
  return new LocalEvents({ append }, options.masterId, door, (error) =>
    onTrouble('an event of a local tool was lost', error),
  );
}

/** Chooses the framing by the option; `auto` follows the Salt of this host. */
export function chooseDialect(
  framing: 'auto' | 'bare' | 'prefixed',
  salt: InstalledSalt | undefined,
): SocketDialect {
  const dialect = dialectOf(salt?.version);
  if (framing === 'auto') return dialect;
  const isBare = framing === 'bare';
  return { framing, zone: isBare && dialect.zone, wakes: isBare && dialect.wakes };
}

/** Caches that a Brine master writes: the files of this host, and PostgreSQL as pgjsonb sees it. */
const WRITTEN_CACHES: readonly string[] = ['local_cache', 'pgjsonb'];

/**
 * The files of jobs that are written, by the options of Salt (Salt: salt/utils/job.py store_job).
 */
export function keptFiles(
  options: Pick<
    ServiceContext['options'],
    'masterJobCache' | 'extJobCache' | 'jobCache' | 'jobCacheStoreEndtime' | 'brine'
  >,
  hasSalt: boolean,
  log: Pick<ServiceContext['log'], 'warn'>,
): { readonly jobFiles: boolean; readonly returnFiles: boolean; readonly endTimes: boolean } {
  for (const name of ['masterJobCache', 'extJobCache'] as const) {
    const cache = options[name];
    if (cache === '' || WRITTEN_CACHES.includes(cache)) continue;
    log.warn({ [name]: cache }, 'this job cache is not written by Brine; jobs are in PostgreSQL');
  }
  const jobFiles = options.masterJobCache === 'local_cache';
  const isKept = jobFiles && options.jobCache && options.extJobCache === '';
  // Only stock tools read returns, and writing them costs most of a return here.
  const isRead = hasSalt || options.brine.eventFraming !== 'auto';
  return { jobFiles, returnFiles: isKept && isRead, endTimes: options.jobCacheStoreEndtime };
}

function hasEntries(value: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(value).length > 0;
}

/** For deliveries of gateways, and for clocks that differ. */
const MARGIN_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

/**
 * How long the bytes of a sealed request are valid, in ms. If `request_server_ttl` is set, twice
 * its value, since it applies before and after the master's time. Otherwise the life of session
 * keys. At least a day.
 */
function sealedForMs(
  options: Pick<ServiceContext['options'], 'requestServerTtl' | 'publishSession'>,
): number {
  const { requestServerTtl: ttl, publishSession } = options;
  if (ttl > 0) return 2 * ttl * 1000 + MARGIN_MS;
  return Math.max(publishSession * 1000, DAY_MS) + MARGIN_MS;
}
