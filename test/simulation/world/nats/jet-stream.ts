import type { VirtualTime } from '../virtual-time.ts';
import type { Place, Wire } from './consumer.ts';
import { SimConsumer } from './consumer.ts';
import type { SimMessage } from './message.ts';
import { SimHeaders, status } from './message.ts';
import type { Stored } from './stream.ts';
import { SimStream } from './stream.ts';

interface Kept {
  stream: SimStream;
  readonly consumers: Map<string, SimConsumer>;
}

/** A copy of what one stream had on disk. */
export interface DiskCopy {
  readonly stream: SimStream;
  readonly places: ReadonlyMap<string, Place>;
}

type Config = Readonly<Record<string, unknown>>;

/** Those with a bound on their bytes; the buckets have none. */
const BOUNDED: ReadonlySet<string> = new Set(['EVENTS', 'PUBLICATIONS']);
const NOT_FOUND = { code: 404, err_code: 10059, description: 'stream not found' };
const NO_CONSUMER = { code: 404, err_code: 10014, description: 'consumer not found' };
const CONFLICT = { code: 400, err_code: 10071, description: 'wrong last sequence' };
const FULL = { code: 503, err_code: 10077, description: 'maximum bytes exceeded' };

/** JetStream: streams, consumers and the requests that Brine makes of them. */
export class JetStream {
  readonly #time: VirtualTime;
  readonly #wire: Wire;
  readonly #kept = new Map<string, Kept>();
  /** The streams of events and publications take nothing more. */
  full = false;
  /** So long, in ms, the disk takes for each message. */
  slowMs = 0;
  /** Told of each message that a stream has stored. */
  onStored: (stream: string, stored: Stored) => void = () => undefined;

  constructor(time: VirtualTime, wire: Wire) {
    this.#time = time;
    this.#wire = wire;
  }

  stream(name: string): SimStream {
    const kept = this.#kept.get(name);
    if (kept === undefined) throw new Error(`no stream ${name}`);
    return kept.stream;
  }

  consumer(stream: string, name: string): SimConsumer | undefined {
    return this.#kept.get(stream)?.consumers.get(name);
  }

  /** Whether the message was for JetStream. */
  take(message: SimMessage): boolean {
    const { subject, reply } = message;
    if (subject.startsWith('$JS.API.')) {
      this.#api(subject.slice('$JS.API.'.length), message);
      return true;
    }
    if (subject.startsWith('$JS.ACK.')) {
      const [, , stream = '', consumer = '', , seq] = subject.split('.');
      const how = Buffer.from(message.data).toString('latin1');
      this.consumer(stream, consumer)?.settle(Number(seq), how);
      return true;
    }
    for (const kept of this.#kept.values()) {
      if (kept.stream.takes(subject)) {
        this.#append(kept, message, reply);
        return true;
      }
    }
    return false;
  }

  interestLost(): void {
    for (const consumer of this.#consumers()) consumer.interestLost();
  }

  /** The server was killed: readers without a durable place are gone. */
  restarted(): void {
    for (const { stream, consumers } of this.#kept.values()) {
      stream.restarted();
      for (const [name, consumer] of consumers) {
        if (consumer.isDurable) consumer.restarted();
        else {
          consumer.end();
          consumers.delete(name);
        }
      }
    }
  }

  /** What is on disk, to be put back later. */
  copyAll(): ReadonlyMap<string, DiskCopy> {
    return new Map([...this.#kept.keys()].map((name) => [name, this.#copy(name)] as const));
  }

  /** Puts an older copy in the place of what is on disk. */
  restoreAll(copies: ReadonlyMap<string, DiskCopy>): void {
    for (const [name, copy] of copies) this.#restore(name, copy);
  }

  #copy(name: string): DiskCopy {
    const kept = this.#kept.get(name);
    if (kept === undefined) throw new Error(`no stream ${name}`);
    const durable = [...kept.consumers].filter(([, consumer]) => consumer.isDurable);
    const places = new Map(durable.map(([id, consumer]) => [id, consumer.place] as const));
    return { stream: kept.stream.copy(), places };
  }

  #restore(name: string, copy: DiskCopy): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) throw new Error(`no stream ${name}`);
    kept.stream = copy.stream.copy();
    for (const [id, consumer] of kept.consumers) {
      const place = copy.places.get(id);
      if (place !== undefined) consumer.restarted(kept.stream, place);
      else {
        consumer.end();
        kept.consumers.delete(id);
      }
    }
  }

  #consumers(): SimConsumer[] {
    return [...this.#kept.values()].flatMap(({ consumers }) => [...consumers.values()]);
  }

  #append(kept: Kept, message: SimMessage, reply: string | undefined): void {
    const { stream } = kept;
    const isFull = this.full && BOUNDED.has(stream.name);
    const appended = stream.append(message, this.#time.wall, isFull);
    switch (appended.kind) {
      case 'stored': {
        const stored = stream.messages.get(appended.seq);
        if (stored !== undefined) this.onStored(stream.name, stored);
        this.#afterDisk(() => {
          this.#answer(reply, { stream: stream.name, seq: appended.seq });
          for (const consumer of kept.consumers.values()) consumer.pump();
        });
        return;
      }
      case 'duplicate':
        this.#afterDisk(() => {
          this.#answer(reply, { stream: stream.name, seq: appended.seq, duplicate: true });
        });
        return;
      case 'conflict':
        this.#answer(reply, { error: CONFLICT });
        return;
      case 'full':
        this.#answer(reply, { error: FULL });
    }
  }

  #afterDisk(act: () => void): void {
    if (this.slowMs > 0) this.#time.after(this.slowMs, act);
    else act();
  }

  #api(verb: string, message: SimMessage): void {
    const [area = '', act = '', ...rest] = verb.split('.');
    const text = Buffer.from(message.data).toString('utf8');
    const body = (text === '' ? {} : JSON.parse(text)) as Config;
    const { reply } = message;
    switch (`${area}.${act}`) {
      case 'STREAM.INFO':
        return this.#answer(reply, this.#streamInfo(rest[0] ?? ''));
      case 'STREAM.CREATE':
        return this.#answer(reply, this.#create(body));
      case 'STREAM.PURGE':
        return this.#answer(reply, {
          success: true,
          purged: this.stream(rest[0] ?? '').purge(Number(body['seq'])),
        });
      case 'CONSUMER.INFO': {
        const consumer = this.consumer(rest[0] ?? '', rest[1] ?? '');
        return this.#answer(reply, consumer?.info ?? { error: NO_CONSUMER });
      }
      case 'CONSUMER.CREATE':
        return this.#answer(reply, this.#createConsumer(rest[0] ?? '', body['config'] as Config));
      case 'CONSUMER.DELETE':
        this.consumer(rest[0] ?? '', rest[1] ?? '')?.end();
        this.#kept.get(rest[0] ?? '')?.consumers.delete(rest[1] ?? '');
        return this.#answer(reply, { success: true });
      case 'CONSUMER.LIST': {
        const consumers = [...(this.#kept.get(rest[0] ?? '')?.consumers.values() ?? [])];
        const page = Number(body['offset'] ?? 0) > 0 ? [] : consumers.map(({ info }) => info);
        return this.#answer(reply, { total: consumers.length, consumers: page });
      }
      case 'CONSUMER.MSG':
        return this.#pull(rest[1] ?? '', rest[2] ?? '', body, reply);
      case 'DIRECT.GET':
        return this.#direct(rest, body, reply);
      default:
        throw new Error(`the simulated JetStream does not know ${verb}`);
    }
  }

  #streamInfo(name: string): object {
    const stream = this.#kept.get(name)?.stream;
    if (stream === undefined) return { error: NOT_FOUND };
    const first = stream.messages.values().next().value;
    const last = stream.messages.get(stream.lastSeq) ?? first;
    return {
      created: stream.created,
      config: stream.config,
      state: {
        messages: stream.messages.size,
        bytes: 0,
        first_seq: first?.seq ?? stream.lastSeq + 1,
        last_seq: stream.lastSeq,
        first_ts: new Date(first?.timeMs ?? 0).toISOString(),
        last_ts: new Date(last?.timeMs ?? 0).toISOString(),
      },
    };
  }

  #create(config: Config): object {
    const name = String(config['name']);
    if (this.#kept.has(name))
      return { error: { code: 400, err_code: 10058, description: 'taken' } };
    const created = new Date(this.#time.wall).toISOString();
    this.#kept.set(name, { stream: new SimStream(config, created), consumers: new Map() });
    return this.#streamInfo(name);
  }

  #createConsumer(name: string, config: Config): object {
    const kept = this.#kept.get(name);
    if (kept === undefined) return { error: NOT_FOUND };
    const known = kept.consumers.get(String(config['name']));
    const consumer = known ?? new SimConsumer(kept.stream, config, this.#time, this.#wire);
    kept.consumers.set(consumer.name, consumer);
    return consumer.info;
  }

  #pull(stream: string, name: string, body: Config, reply: string | undefined): void {
    if (reply === undefined) return;
    const consumer = this.consumer(stream, name);
    if (consumer !== undefined) return consumer.pull(reply, body);
    // As without a responder: the consumer does not exist.
    const headers = status(503, 'No Responders');
    this.#wire.deliver(reply, { subject: reply, data: new Uint8Array(0), headers });
  }

  #direct(rest: readonly string[], body: Config, reply: string | undefined): void {
    if (reply === undefined) return;
    const [name = '', ...subject] = rest;
    const stream = this.stream(name);
    const lastBy = subject.length > 0 ? subject.join('.') : body['last_by_subj'];
    const stored =
      typeof lastBy === 'string'
        ? stream.lastOf(lastBy)
        : typeof body['start_time'] === 'string'
          ? stream.since(Date.parse(body['start_time']))
          : stream.messages.get(Number(body['seq']));
    if (stored === undefined) {
      const headers = status(404, 'Message Not Found');
      this.#wire.deliver(reply, { subject: reply, data: new Uint8Array(0), headers });
      return;
    }
    const { seq, timeMs, message } = stored;
    const values = new Map(message.headers?.values ?? []);
    values.set('Nats-Stream', name).set('Nats-Subject', message.subject);
    values.set('Nats-Sequence', String(seq));
    values.set('Nats-Time-Stamp', new Date(timeMs).toISOString());
    const headers = new SimHeaders(values);
    this.#wire.deliver(reply, { subject: reply, data: message.data, headers });
  }

  #answer(reply: string | undefined, value: object): void {
    if (reply === undefined) return;
    const data = Buffer.from(JSON.stringify(value));
    this.#wire.deliver(reply, { subject: reply, data });
  }
}
