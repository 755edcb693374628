import { Bucket, connectBus, ensureStreams, EventWriter } from '@brine/bus';
import type { Bus } from '@brine/bus';
import { JobFiles } from '@brine/cachedir';
import { SecretBox } from '@brine/crypt';
import { loadOrCreateMasterKeys } from '@brine/pki';
import type { RunningService, ServiceContext } from '@brine/service';

import { startFeeds } from './feeds.ts';
import { HostSockets } from './host-sockets.ts';
import { startHousekeeping } from './housekeeping.ts';
import { dialectOf, findInstalledSalt } from './installed-salt.ts';
import type { InstalledSalt, SocketDialect } from './installed-salt.ts';
import { startKeySync } from './key-files.ts';
import { LocalEvents } from './local-events.ts';
import { Readers } from './readers.ts';
import { Releasers } from './releasers.ts';
import { startRotation } from './aes-rotation.ts';
import { watchUserKeys } from './user-keys.ts';

/**
 * Starts the event bus of a host. The order matters: the sockets are there within milliseconds of a
 * restart, the streams before anybody may write, and only when files, keys and feeds are in place is
 * the service ready.
 */
export async function startEventBus(context: ServiceContext): Promise<RunningService> {
  const { options, log } = context;
  const releasers = new Releasers();
  try {
    return await start(context, releasers);
  } catch (error) {
    await releasers.run();
    log.error({ host: options.brine.host }, 'event bus did not start');
    throw error;
  }
}

async function start(context: ServiceContext, releasers: Releasers): Promise<RunningService> {
  const { options, log, signal } = context;
  const { host } = options.brine;
  const startedMs = Date.now();
  const trouble = (text: string, err?: unknown): void => log.warn({ err }, text);

  const connecting = connect(context);
  // Whoever fires before the streams are there waits for them; the socket holds the rest back.
  const writer = connecting.then((bus) => new EventWriter(bus, { timeoutMs: 30_000 }));
  // Awaited below; a failure before that must not count as unhandled.
  writer.catch(() => undefined);
  const local = new LocalEvents(
    { append: async (event) => (await writer).append(event) },
    (error) => trouble('an event of a local tool was lost', error),
  );
  const salt = findInstalledSalt(context.env['PATH'] ?? '');
  const sockets = await HostSockets.open({
    sockDir: options.sockDir,
    dialect: chooseDialect(options.brine.eventFraming, salt),
    readableByAll: hasEntries(options.publisherAcl) || hasEntries(options.externalAuth),
    onEvent: local.take,
    onTrouble: trouble,
  });
  releasers.add(() => sockets.close());

  const bus = await connecting;
  releasers.add(() => bus.close());
  releasers.add(() => local.drained());
  await ensureStreams(bus);
  const keys = await loadOrCreateMasterKeys(options.pkiDir, options.keysize);

  const files = new JobFiles({ cachedir: options.cachedir, hashType: options.hashType });
  const readers = new Readers(sockets.readerSockets, options.maxEventSize);
  const feeds = startFeeds({
    bus,
    files,
    readers,
    host,
    sinceMs: startedMs,
    maxEventSize: options.maxEventSize,
    // Only stock tools read them, and they cost more than all the rest of a return here.
    returnFiles: options.jobCache && (salt !== undefined || options.brine.eventFraming !== 'auto'),
    onTrouble: trouble,
    onFailure: context.fail,
  });
  releasers.add(() => feeds.close());

  const box = SecretBox.fromMasterKey(keys.privatePem, 'userkeys');
  const users = await watchUserKeys(
    { ...options, host, clientAclVerify: options.clientAclVerify },
    new Bucket(bus, 'brine_secrets'),
    box,
    trouble,
  );
  releasers.add(() => users.close());
  const keySync = await startKeySync({ bus, pkiDir: options.pkiDir, onTrouble: trouble });
  releasers.add(() => keySync.close());
  const { cachedir, masterId } = options;
  const rotation = await startRotation({ bus, keys, cachedir, masterId, onTrouble: trouble });
  releasers.add(() => rotation.close());
  const housekeeping = startHousekeeping({
    bus,
    files,
    keepJobsSeconds: options.keepJobsSeconds,
    signal,
    onTrouble: trouble,
  });
  releasers.add(() => housekeeping.close());

  const running = {
    sockets: () => sockets.status(),
    feeds: () => ({ ...readers.stats(), ...feeds.status() }),
    local: () => local.stats(),
    keys: () => ({ users: users.count, rotations: rotation.rotations, ...keySync.status() }),
    housekeeping: () => housekeeping.status(),
  };
  addMetrics(context, readers, local);
  log.info({ salt: salt?.version, readers: options.sockDir }, 'event sockets are served');
  return {
    close: () => releasers.run(),
    ready: () => bus.status === 'connected' && feeds.reading && keySync.inStep,
    status: () => ({
      bus: bus.status,
      salt: salt?.version,
      readers: readers.count,
      ...Object.fromEntries(Object.entries(running).map(([name, read]) => [name, read()])),
    }),
  };
}

async function connect(context: ServiceContext): Promise<Bus> {
  const url = context.options.brine.nats.url;
  if (!url) throw new Error('brine.nats.url (or NATS_URL) is not set; start with `brine master`');
  return connectBus({ url, name: 'event-bus', signal: context.signal });
}

/** The operator's word first; else what the Salt of this host reads. */
export function chooseDialect(
  framing: 'auto' | 'bare' | 'prefixed',
  salt: InstalledSalt | undefined,
): SocketDialect {
  const dialect = dialectOf(salt?.version);
  return framing === 'auto' ? dialect : { framing, zone: framing === 'bare' && dialect.zone };
}

function hasEntries(value: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(value).length > 0;
}

function addMetrics(context: ServiceContext, readers: Readers, local: LocalEvents): void {
  const { metrics } = context;
  const gauge = (name: string, help: string, read: () => number): void =>
    metrics.gaugeOf(`brine_event_bus_${name}`, help, read);
  gauge('readers', 'Readers connected to the event sockets.', () => readers.count);
  gauge('events', 'Events fired to readers since the start.', () => readers.stats().fired);
  gauge('dropped_readers', 'Readers dropped as too slow.', () => readers.stats().droppedReaders);
  gauge('local_events', 'Events stored for local tools.', () => local.stats().stored);
  gauge('lost_local_events', 'Events of local tools that were lost.', () => local.stats().lost);
}
