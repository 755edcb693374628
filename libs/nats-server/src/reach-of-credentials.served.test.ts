import type { Bus } from '@brine/bus';
import { BUCKETS, isRecord, SERVICE_NAMES, STREAMS } from '@brine/bus';
import { SERVICE_INBOXES } from '@brine/bus/apart';
import { EVENT_KINDS } from '@brine/job';
import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { headers } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountOf, INNER_ACCOUNT } from './accounts.ts';
import { PERMISSIONS } from './permissions.ts';

/*
 * Each credential of an account without streams asks every stream in every form for something, and
 * names every place where somebody acts on what comes as the place for the answer. What the admin
 * asks in the same forms does arrive, so that a form that has stopped to work is noticed.
 */

const CREDENTIALS = SERVICE_NAMES.filter((name) => accountOf(name) !== INNER_ACCOUNT);
const ALL_STREAMS = [...Object.values(STREAMS), ...BUCKETS.map((name) => `KV_${name}`)];
const RECORD = '{"state":"accepted","pub":"PEM","at":1}';

/** What is in each stream before. */
const SEEDS: Readonly<Record<string, string>> = {
  EVENTS: 'brine.events.syndic',
  PUBLICATIONS: 'brine.publications.marker',
  REACTIONS: 'brine.reactions.event.seed.1',
  DUE: 'brine.due.job',
  brine_bodies: 'brine.bodies.rep.seed.0',
  brine_kept_bodies: 'brine.kept.evt.seed.0',
  ...Object.fromEntries(BUCKETS.map((name) => [`KV_${name}`, `$KV.${name}.seed`])),
};

const EVENTS = [...EVENT_KINDS, 'made-up'];
/** Where somebody acts on what comes: a stream, the server itself, a service. */
const PLACES = [
  ...EVENTS.map((kind) => `brine.events.${kind}`),
  ...['job', 'again', 'marker'].map((kind) => `brine.publications.${kind}`),
  ...['event', 'due', 'event.a.1'].map((kind) => `brine.reactions.${kind}`),
  'brine.due.job',
  ...['req', 'rep', 'qry'].map((space) => `brine.bodies.${space}.forged.0`),
  ...['evt', 'pub'].map((space) => `brine.kept.${space}.forged.0`),
  ...BUCKETS.map((name) => `$KV.${name}.forged`),
  '$JS.API.STREAM.PURGE.PUBLICATIONS',
  '$JS.API.STREAM.DELETE.KV_brine_keys',
  ...['epochs', 'word', 'sent', 'committed', 'hello', 'grant.w', 'req.clear.w', 'workers.w'].map(
    (rest) => `brine.${rest}`,
  ),
  ...['told', 'heard', 'hello', 'ask'].map((word) => `brine.presence.${word}`),
  ...Object.values(SERVICE_INBOXES).map((inbox) => `${inbox}.forged.i.0`),
];

interface Sent {
  readonly subject: string;
  readonly body?: object | string;
  /** False: the place is named elsewhere. */
  readonly reply?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

type Form = (stream: string, place: string, n: string) => Sent;

const api = (verb: string, stream: string): string => `$JS.API.${verb}.${stream}`;
const next = (stream: string): string => api('CONSUMER.MSG.NEXT', stream);
const acked = (stream: string, consumer: string): string =>
  `$JS.ACK.${stream}.${consumer}.1.1.1.${Date.now()}000000.0`;
const pushing = (name: string, place: string): Record<string, unknown> => {
  const common = { name, ack_policy: 'none', deliver_policy: 'all', mem_storage: true };
  return { ...common, deliver_subject: place, num_replicas: 1 };
};
const create = (stream: string, name: string): string =>
  `${api('CONSUMER.CREATE', stream)}.${name}`;

/** Every way to have something read by the server, and the answer put where the reader says. */
const FORMS: Readonly<Record<string, Form>> = {
  'get by sequence': (stream) => ({ subject: api('DIRECT.GET', stream), body: { seq: 1 } }),
  'get the last': (stream) => ({
    subject: api('DIRECT.GET', stream),
    body: { last_by_subj: SEEDS[stream] },
  }),
  'get the last of its subject': (stream) => ({
    subject: `${api('DIRECT.GET', stream)}.${SEEDS[stream]}`,
  }),
  'get several': (stream) => ({
    subject: api('DIRECT.GET', stream),
    body: { multi_last: ['>'], batch: 9 },
  }),
  'get since': (stream) => ({
    subject: api('DIRECT.GET', stream),
    body: { start_time: '2020-01-01T00:00:00Z', batch: 9 },
  }),
  'get of the leader': (stream) => ({
    subject: api('STREAM.MSG.GET', stream),
    body: { last_by_subj: SEEDS[stream] },
  }),
  'stream info': (stream) => ({ subject: api('STREAM.INFO', stream) }),
  'consumer info': (stream) => ({ subject: `${api('CONSUMER.INFO', stream)}.store` }),
  'consumer made': (stream, _place, n) => ({
    subject: create(stream, `r${n}`),
    body: { stream_name: stream, config: { name: `r${n}`, ack_policy: 'none' } },
  }),
  'consumer deleted': (stream, _place, n) => ({
    subject: `${api('CONSUMER.DELETE', stream)}.none${n}`,
  }),
  'next of the store': (stream) => ({
    subject: `${next(stream)}.store`,
    body: { batch: 3, no_wait: true },
  }),
  'next of a syndic': (stream) => ({
    subject: `${next(stream)}.syndic-a`,
    body: { batch: 3, no_wait: true },
  }),
  'next of one reader': (stream) => ({
    subject: `${next(stream)}.rlive`,
    body: { batch: 3, no_wait: true },
  }),
  'acknowledged for the next': (stream) => ({
    subject: acked(stream, 'store'),
    body: '+NXT {"batch":3,"no_wait":true}',
  }),
  'a syndic’s acknowledged': (stream) => ({
    subject: acked(stream, 'syndic-a'),
    body: '+NXT {"batch":3,"no_wait":true}',
  }),
  'consumer that pushes': (stream, place, n) => ({
    subject: create(stream, `rp${n}`),
    body: { stream_name: stream, config: pushing(`rp${n}`, place) },
    reply: false,
  }),
  'consumer that pushes, by another spelling': (stream, place, n) => {
    const { deliver_subject, ...config } = pushing(`rq${n}`, place);
    return {
      subject: create(stream, `rq${n}`),
      body: { stream_name: stream, config: { ...config, Deliver_Subject: deliver_subject } },
      reply: false,
    };
  },
  'consumer that pushes, filtered': (stream, place, n) => ({
    subject: `${create(stream, `rf${n}`)}.${SEEDS[stream]}`,
    body: {
      stream_name: stream,
      config: { ...pushing(`rf${n}`, place), filter_subject: SEEDS[stream] },
    },
    reply: false,
  }),
  'durable consumer that pushes': (stream, place, n) => ({
    subject: `${api('CONSUMER.DURABLE.CREATE', stream)}.rd${n}`,
    body: {
      stream_name: stream,
      config: { ...pushing(`rd${n}`, place), mem_storage: false, durable_name: `rd${n}` },
    },
    reply: false,
  }),
  'consumer of the old way that pushes': (stream, place) => {
    const { name: _name, ...config } = pushing('', place);
    return {
      subject: api('CONSUMER.CREATE', stream),
      body: { stream_name: stream, config },
      reply: false,
    };
  },
};

const isQueue = (stream: string): boolean => stream === STREAMS.reactions || stream === STREAMS.due;

/** A queue has one reader, which has to acknowledge. */
const works = (form: string, stream: string): boolean =>
  !isQueue(stream) || !/syndic|one reader|pushes/.test(form);

/** Ways to write whatever the rights say, which only rights can stop. */
const WRITES: Readonly<Record<string, (stream: string, place: string) => Sent>> = {
  'a write': (_stream, place) => ({ subject: place, body: RECORD, reply: false }),
  'a stream that takes from another': (stream, place) => ({
    subject: api('STREAM.CREATE', 'forged'),
    body: {
      name: 'forged',
      storage: 'memory',
      republish: { src: '>', dest: place },
      subjects: [],
      sources: [{ name: stream }],
    },
    reply: false,
  }),
  'a stream that says what it gets': (stream, place) => ({
    subject: api('STREAM.UPDATE', stream),
    body: { name: stream, republish: { src: '>', dest: place } },
    reply: false,
  }),
  'a question to those that make consumers': (stream, place) => ({
    subject: `brine.consumers.job-cache-returner.${stream}.rx`,
    body: { stream_name: stream, config: pushing('rx', place) },
  }),
  'a consumer that pushes, by the name of the interface here': (stream, place) => ({
    subject: `brine.api.CONSUMER.CREATE.${stream}.rz`,
    body: { stream_name: stream, config: pushing('rz', place) },
    reply: false,
  }),
  'an acknowledged write': (stream) => ({ subject: SEEDS[stream]!, body: RECORD }),
  'a traced write': (stream, place) => ({
    subject: SEEDS[stream]!,
    body: RECORD,
    headers: { 'Nats-Trace-Dest': place },
    reply: false,
  }),
  'a write for later': (stream, place) => ({
    subject: SEEDS[stream]!,
    body: RECORD,
    headers: { 'Nats-Schedule': '@every 1s', 'Nats-Schedule-Target': place },
    reply: false,
  }),
};

let nats: TestNats;
let admin: Bus;

beforeAll(async () => {
  nats = await startNats();
  admin = await nats.connect('admin');
  for (const stream of ALL_STREAMS) {
    for (let n = 0; n < 3; n++) admin.connection.publish(SEEDS[stream]!, RECORD);
    const readers = isQueue(stream) ? [] : ['syndic-a', 'rlive'];
    for (const name of ['store', ...readers]) {
      const config = { name, durable_name: name, ack_policy: 'explicit', ack_wait: 1e7 };
      await ask(create(stream, name), { stream_name: stream, config });
    }
  }
}, 600_000);

afterAll(() => nats.close());

async function ask(subject: string, value: unknown): Promise<Record<string, unknown>> {
  const told = await admin.inbox.request(subject, JSON.stringify(value), { timeoutMs: 10_000 });
  const answer: unknown = JSON.parse(Buffer.from(told.data).toString('utf8'));
  if (!isRecord(answer) || answer['error'] !== undefined) throw new Error(JSON.stringify(answer));
  return answer;
}

/** Receives in the account of the streams what comes at some places: the names of these. */
function hearAt(places: readonly string[]): { readonly at: Set<string>; readonly end: () => void } {
  const at = new Set<string>();
  // What a consumer sends shows the subject that it had in its stream, so each has a callback.
  const subscriptions = places.map((place) =>
    admin.connection.subscribe(place, { callback: () => void at.add(place) }),
  );
  return { at, end: () => subscriptions.forEach((one) => one.unsubscribe()) };
}

function send(bus: Bus, { subject, body, reply, headers: lines }: Sent, place: string): void {
  const payload = typeof body === 'object' ? JSON.stringify(body) : (body ?? '');
  const told = headers();
  for (const [key, value] of Object.entries(lines ?? {})) told.set(key, value);
  bus.connection.publish(subject, payload, {
    ...(reply === false ? {} : { reply: place }),
    ...(lines === undefined ? {} : { headers: told }),
  });
}

function covers(pattern: string, subject: string): boolean {
  const tokens = subject.split('.');
  const wanted = pattern.split('.');
  if (wanted.at(-1) !== '>' && wanted.length !== tokens.length) return false;
  return wanted.every((token, at) => token === '>' || token === '*' || token === tokens[at]);
}

test.each(CREDENTIALS)('what %s asks for arrives nowhere but at itself', async (name) => {
  const { publish } = PERMISSIONS[name];
  const others = PLACES.filter((place) => !publish.some((pattern) => covers(pattern, place)));
  const heard = hearAt(others);
  await admin.flush();
  const bus = await nats.connect(name);
  let n = 0;
  for (const place of others) {
    for (const stream of ALL_STREAMS) {
      for (const form of Object.values(FORMS)) send(bus, form(stream, place, String(n++)), place);
      for (const write of Object.values(WRITES)) send(bus, write(stream, place), place);
    }
    await bus.flush();
  }
  // Each form works: it does for the admin, whose requests the server has read after these.
  const tried = ALL_STREAMS.flatMap((stream) =>
    Object.keys(FORMS)
      .filter((form) => works(form, stream))
      .map((form) => [stream, form] as const),
  );
  const placeOf = (at: number): string => `seen.${name}.${at}`;
  const own = hearAt(tried.map((_, at) => placeOf(at)));
  for (const [at, [stream, form]] of tried.entries()) {
    send(admin, FORMS[form]!(stream, placeOf(at), `${name.length}x${at}`), placeOf(at));
  }
  const missing = (): readonly string[] =>
    tried.filter((_, at) => !own.at.has(placeOf(at))).map((one) => one.join(': '));
  await expect.poll(missing).toEqual([]);
  expect([...heard.at]).toEqual([]);
  expect(others.length).toBeGreaterThan(40);
  heard.end();
  own.end();
  await bus.close();
});

test('services that do not hold the key of the master live apart from the streams', () => {
  expect(CREDENTIALS).toEqual(['req-gateway', 'job-cache-returner', 'syndic-relay', 'http-api']);
  expect(new Set(CREDENTIALS.map(accountOf)).size).toBe(CREDENTIALS.length);
});

test.each(CREDENTIALS)('%s may not change a stream', (name) => {
  const changes = /^(?:[>*]|\$(?:JS|KV)\.[>*]|\$JS\.API\.(?:[>*]|STREAM\.(?!INFO|MSG\.GET)))/;
  expect(PERMISSIONS[name].publish.filter((subject) => changes.test(subject))).toEqual([]);
});

test.each([
  ['job-cache-returner', 'reactor'],
  ['syndic-relay', 'reactor'],
  ['syndic-relay', 'store'],
  ['http-api', 'reactor'],
  ['http-api', 'store'],
] as const)('%s may not take what is for the reader %s', async (name, reader) => {
  const bus = await nats.connect(name);
  for (const stream of [STREAMS.events, STREAMS.publications]) {
    for (const verb of ['CONSUMER.MSG.NEXT', 'CONSUMER.DELETE']) {
      const asked = bus.inbox.request(`${api(verb, stream)}.${reader}`, '', { timeoutMs: 10_000 });
      await expect(asked).rejects.toMatchObject({ code: 'BUS_FORBIDDEN' });
    }
    const ack = bus.inbox.request(acked(stream, reader), '+ACK', { timeoutMs: 10_000 });
    await expect(ack).rejects.toMatchObject({ code: 'BUS_FORBIDDEN' });
  }
  await bus.close();
});
