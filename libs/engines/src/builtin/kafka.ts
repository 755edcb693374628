import { errorText } from '@brine/tasks';
import { OptionError, Options } from '../child/options.ts';
import type { EngineEvent, EngineStart } from '../engine.ts';
import { deliverBatches, NotTakenError } from './deliver.ts';

/** The client is no package of Brine, because it needs a newer Node. */
const LIBRARY = '@platformatic/kafka';
const MOST = 200;
const TOPIC = 'salt-events';

/** The part of the client that is used. */
export interface KafkaLibrary {
  readonly Producer: new (options: Readonly<Record<string, unknown>>) => KafkaProducer;
  readonly stringSerializers: unknown;
  readonly ProduceAcks: { readonly ALL: number };
}

interface KafkaProducer {
  send(options: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Sends events as JSON to a topic of Kafka, in their order for each minion. Every in-sync replica
 * must have them.
 */
export const start: EngineStart = async (engine, given) => {
  const library = await loadLibrary();
  const options = new Options(given);
  const bootstrapBrokers = options.texts('brokers');
  if (bootstrapBrokers === undefined) throw new OptionError('option brokers must name brokers');
  const topic = options.text('topic', TOPIC);
  const producer = new library.Producer({
    bootstrapBrokers,
    clientId: options.text('client_id', 'brine'),
    serializers: library.stringSerializers,
    ...saslOf(options.map('sasl')),
    ...(await tlsOf(options.map('tls'))),
  });
  const delivery = { tags: options.texts('tags'), funs: options.texts('funs'), most: MOST };
  try {
    await deliverBatches(engine, delivery, async (events) => {
      const messages = events.map((event) => messageOf(event, topic));
      await producer.send({ messages, acks: library.ProduceAcks.ALL }).catch(refuse);
    });
  } finally {
    await producer.close();
  }
};

/** Errors of a broker that a retry does not change (org.apache.kafka.common.errors). */
const TOO_LARGE: ReadonlySet<unknown> = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/**
 * Rethrows an error of the client, which has one error per partition with the broker's code in
 * `apiId`.
 * @throws NotTakenError if a broker found messages too large; else the error
 */
export function refuse(error: unknown): never {
  if (!isTooLarge(error)) throw error;
  throw new NotTakenError('it is larger than the broker takes', { cause: error });
}

function isTooLarge(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('apiId' in error && TOO_LARGE.has(error.apiId)) return true;
  return error instanceof AggregateError && error.errors.some(isTooLarge);
}

/** Makes a message. Those of one minion have one key, which keeps their order. */
export function messageOf({ id, tag, data, timeMs }: EngineEvent, topic: string) {
  const { id: minion } = data;
  return {
    topic,
    key: typeof minion === 'string' ? minion : tag,
    value: JSON.stringify({ tag, data, time: new Date(timeMs).toISOString() }),
    headers: { 'brine-event': id, 'salt-tag': tag },
  };
}

function saslOf(options: Options | undefined): object {
  if (options === undefined) return {};
  const mechanism = options.oneOf(
    'mechanism',
    ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'],
    'SCRAM-SHA-512',
  );
  const [username, password] = [options.text('username'), options.text('password')];
  return { sasl: { mechanism, username, password } };
}

async function tlsOf(options: Options | undefined): Promise<object> {
  if (options === undefined) return {};
  const [ca, cert] = [await options.file('ca_file'), await options.file('cert_file')];
  const key = await options.file('key_file');
  const rejectUnauthorized = options.flag('verify', true);
  return { tls: { ca, cert, key, rejectUnauthorized } };
}

async function loadLibrary(): Promise<KafkaLibrary> {
  try {
    return (await import(LIBRARY)) as KafkaLibrary;
  } catch (error) {
    const text = errorText(error);
    throw new OptionError(
      `it needs the package ${LIBRARY}, installed beside Brine, and Node 22.22 or newer: ${text}`,
    );
  }
}
