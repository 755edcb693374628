import type { Msg, Subscription } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { asError } from '../connection/errors.ts';
import { canPublish, publish } from '../connection/inbox.ts';
import { isRecord } from '../connection/js-api.ts';
import type { ServiceName } from '../subjects/names.ts';
import { CONSUMERS_ROOT, STREAMS_API } from '../subjects/names.ts';

/**
 * The durable readers of each service that has its consumers made here. The server leads only
 * requests for that service's own streams here.
 */
const DURABLE: ReadonlyMap<string, RegExp> = new Map<ServiceName, RegExp>([
  ['job-cache-returner', /^store$/],
  ['syndic-relay', /^syndic-[A-Za-z0-9_-]{1,128}$/],
  // It only follows, and what it missed it reads again from a position.
  ['http-api', /^(?!)/],
]);

/** As `PullFeed` names the consumer of one reader. */
const FOR_ONE = /^r[0-9a-z]{1,12}$/;
/** Durable readers of others that look so. */
const OF_OTHERS: ReadonlySet<string> = new Set(['reactor']);

/**
 * The fields that a consumer may be made with, spelled exactly so: the server ignores case. With
 * none of them can the asker choose the subject that the server sends to, as with
 * `deliver_subject`.
 */
const FIELDS: ReadonlySet<string> = new Set([
  'name',
  'durable_name',
  'replay_policy',
  'max_deliver',
  'deliver_policy',
  'opt_start_seq',
  'opt_start_time',
  'filter_subject',
  'filter_subjects',
  'ack_policy',
  'ack_wait',
  'max_ack_pending',
  'inactive_threshold',
  'headers_only',
  'mem_storage',
  'num_replicas',
]);

/** A request for a consumer has some hundred bytes. */
const REQUEST_MAX_BYTES = 16_384;
/** Consumers that are made at once; beyond it the asker has to retry. */
const IN_HAND_MAX = 256;
const TIMEOUT_MS = 5_000;
/** Where the server takes answers for another account. */
const ANSWERS = '_R_.';
const QUEUE = 'brine';

/**
 * Makes consumers for services in accounts without streams, until the returned function is called.
 * The server sends to any subject that a consumer names, without checking the asker's rights. So
 * these services may not make consumers themselves. Several processes that serve this share the
 * work.
 */
export function makeConsumers(bus: Bus): () => void {
  let inHand = 0;
  let subscription: Subscription | undefined;
  const take = (msg: Msg): void => {
    const { reply } = msg;
    // Without the mapping of the server it would be a subject of the asker's choice.
    if (reply === undefined || !reply.startsWith(ANSWERS)) return;
    const answer = (bytes: Uint8Array): void => {
      if (canPublish(bus.connection)) publish(bus.connection, reply, bytes);
    };
    if (inHand >= IN_HAND_MAX) return answer(refusal(503, 'busy'));
    inHand += 1;
    void make(bus, msg.subject, msg.data)
      .then(answer, (error: unknown) => answer(refusal(503, asError(error).message)))
      .finally(() => (inHand -= 1));
  };
  const open = (): void => {
    subscription ??= bus.connection.subscribe(`${CONSUMERS_ROOT}.*.*.*`, {
      queue: QUEUE,
      callback: (error, msg) => {
        // A server with the rights of the previous release makes the consumers itself.
        if (error) subscription = undefined;
        else take(msg);
      },
    });
  };
  open();
  const stop = bus.onReconnect(open);
  return () => {
    stop();
    if (!bus.connection.isClosed()) subscription?.unsubscribe();
  };
}

async function make(bus: Bus, subject: string, data: Uint8Array): Promise<Uint8Array> {
  const wish = readWish(subject, data);
  if (typeof wish === 'string') return refusal(400, wish);
  const { stream, name, config } = wish;
  // A consumer that exists is not changed: it may be another release's.
  const request = JSON.stringify({ stream_name: stream, config, action: 'create' });
  const verb = `${STREAMS_API}CONSUMER.CREATE.${stream}.${name}`;
  return (await bus.inbox.request(verb, request, { timeoutMs: TIMEOUT_MS })).data;
}

/** A consumer that may be made. */
interface Wish {
  readonly stream: string;
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Reads the request; returns a text if it is refused, with the reason. */
function readWish(subject: string, data: Uint8Array): Wish | string {
  const [service = '', stream = '', name = ''] = subject
    .slice(CONSUMERS_ROOT.length + 1)
    .split('.');
  const durable = DURABLE.get(service);
  if (durable === undefined) return 'no reader of streams';
  const value = objectIn(data);
  if (value === undefined) return 'no request for a consumer';
  const { stream_name: asked, config, ...others } = value;
  if (asked !== stream || !isRecord(config) || !onlyHas(others, ACTIONS)) return 'another form';
  if (!onlyHas(config, FIELDS)) return 'a consumer of another form';
  const { durable_name: kept } = config;
  const isOwn = kept === undefined ? isForOne(name) : kept === name && durable.test(name);
  if (!isOwn || config['name'] !== name) return 'a name of others';
  return { stream, name, config };
}

const ACTIONS: ReadonlySet<string> = new Set(['action']);

function isForOne(name: string): boolean {
  return FOR_ONE.test(name) && !OF_OTHERS.has(name);
}

function onlyHas(value: Readonly<Record<string, unknown>>, names: ReadonlySet<string>): boolean {
  return Object.keys(value).every((name) => names.has(name));
}

function objectIn(data: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  if (data.length > REQUEST_MAX_BYTES) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // the asker gets the reason
  }
}

function refusal(code: number, description: string): Buffer {
  return Buffer.from(JSON.stringify({ error: { code, description } }), 'utf8');
}
