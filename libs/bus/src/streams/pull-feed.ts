import type { Msg, Subscription } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { headersOf, headerText } from '../connection/headers.ts';
import { publish } from '../connection/inbox.ts';
import { askJetStream, streamInfo } from '../connection/js-api.ts';

/** The consumer to read through; made if it does not exist. */
export interface ConsumerSpec {
  readonly stream: string;
  /** The creation time of the stream that `start` refers to. */
  readonly incarnation: string;
  /**
   * A durable consumer keeps its place and needs acks; without a name it is for this reader only.
   */
  readonly durable?: string;
  readonly filterSubjects?: readonly string[];
  /** Where to begin, as JetStream names it; an existing durable consumer keeps its place. */
  readonly start: Readonly<Record<string, unknown>>;
  readonly ackWaitMs?: number;
  readonly maxAckPending?: number;
  /** The server deletes a durable consumer after so long without a reader, in ms; default never. */
  readonly forgetAfterMs?: number;
  /** Without the messages' data, for a reader that wants places and times only. */
  readonly headersOnly?: boolean;
  /** Messages that may be here and are not taken; default 500. Small where readers share work. */
  readonly readAhead?: number;
}

/** A message as it is in a stream. */
export interface StreamMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** A header's value; empty if missing. */
  readonly header: (name: string) => string;
  /** All headers as they came. */
  readonly headers: () => string;
  readonly seq: number;
  /** When the stream stored it, in microseconds since 1970. */
  readonly timeUs: number;
}

/** A message that a consumer delivered. */
export interface Delivery extends StreamMessage {
  /** Sends an acknowledgement of the given kind; does nothing if none is awaited. */
  readonly settle: (how: string) => void;
  /** 1 for the first message of this consumer; a gap means that messages were lost. */
  readonly consumerSeq: number;
  /** Messages of this consumer after this one. */
  readonly pending: number;
  readonly deliveries: number;
}

/** The kind of acknowledgement that asks for a message again after some ms. */
export function nakAfter(ms: number): string {
  return `-NAK {"delay":${Math.round(ms * 1e6)}}`;
}

/** Messages requested at once by default; when half of them have come, more are requested. */
const BATCH = 500;
const EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 2_000;
/** As {@link HEARTBEAT_MS}, after a read-ahead was used up: there may be more messages. */
const UNSURE_HEARTBEAT_MS = 200;
/** More than two missed heartbeats: the consumer is gone, or the server is in trouble. */
const SILENCE_MS = 5_000;
const LOOK_MS = 500;
/** Default time after which an unacknowledged message goes to another reader. */
export const ACK_WAIT_MS = 30_000;
/** How long the consumer of one reader outlives that reader. */
const FORGET_MS = 30_000;

/**
 * Reads one consumer until it fails or is closed. It never recovers by itself: the reader above
 * knows where to resume, and whether the stream is still the same.
 */
export class PullFeed {
  readonly #bus: Bus;
  readonly #stream: string;
  readonly #consumer: string;
  readonly #inbox: string;
  readonly #onDelivery: (delivery: Delivery) => void;
  readonly #onIdle: () => void;
  readonly #subscription: Subscription;
  readonly #watch: NodeJS.Timeout;
  readonly #ordered: boolean;
  readonly #batch: number;
  #asked = 0;
  #untaken = 0;
  #consumerSeq = 0;
  #lastReceived = performance.now();
  #fail: (reason: BusError | undefined) => void = () => undefined;
  #over = false;
  /** Resolves when this feed has ended: with the reason, or undefined after {@link close}. */
  readonly ended: Promise<BusError | undefined>;
  /** Messages that were there when the feed was opened. */
  readonly pendingAtStart: number;

  private constructor(
    bus: Bus,
    spec: ConsumerSpec,
    consumer: string,
    pendingAtStart: number,
    onDelivery: (delivery: Delivery) => void,
    onIdle: () => void,
  ) {
    this.#bus = bus;
    this.#stream = spec.stream;
    this.#consumer = consumer;
    this.#ordered = spec.durable === undefined;
    this.#batch = Math.max(1, spec.readAhead ?? BATCH);
    this.#onDelivery = onDelivery;
    this.#onIdle = onIdle;
    this.pendingAtStart = pendingAtStart;
    this.#inbox = `${bus.inboxPrefix}.f.${consumer}.${Math.random().toString(36).slice(2)}`;
    this.ended = new Promise((resolve) => {
      this.#fail = resolve;
    });
    this.#subscription = bus.connection.subscribe(this.#inbox, {
      callback: (error, msg) => {
        if (error) this.#end(new BusError('BUS_FORBIDDEN', 'the inbox was refused', error));
        else this.#receive(msg);
      },
    });
    this.#watch = setInterval(() => this.#look(), LOOK_MS);
    this.#pull(HEARTBEAT_MS);
  }

  /**
   * Makes the consumer if necessary and begins to read. `onIdle` is called while the server has
   * nothing to send, or may send nothing more before it is acknowledged.
   * @throws BusError `BUS_REFUSED`, `BUS_STREAM_AWAY` if the stream was recreated meanwhile, and as
   *   `Inbox.request` does.
   */
  static async open(
    bus: Bus,
    spec: ConsumerSpec,
    onDelivery: (delivery: Delivery) => void,
    onIdle: () => void = nothing,
  ): Promise<PullFeed> {
    const name = spec.durable ?? `r${Math.random().toString(36).slice(2, 14)}`;
    const consumer = `${spec.stream}.${name}`;
    let answer =
      spec.durable === undefined
        ? undefined
        : await askJetStream(bus, `CONSUMER.INFO.${consumer}`, undefined);
    // An existing consumer keeps its place; making it with another start would be refused.
    if (answer?.ok !== true) {
      answer = await askJetStream(bus, `CONSUMER.CREATE.${consumer}`, {
        stream_name: spec.stream,
        config: consumerConfig(spec, name),
      });
    }
    if (!answer.ok) {
      throw new BusError('BUS_REFUSED', `no consumer ${name} of ${spec.stream}: ${answer.text}`);
    }
    // Read only now: consumers go with their stream, so this one is of the stream found here.
    const info = await streamInfo(bus, spec.stream);
    if (info?.incarnation !== spec.incarnation) {
      throw new BusError('BUS_STREAM_AWAY', `${spec.stream} was recreated`);
    }
    const pending = Number(answer.value['num_pending'] ?? 0);
    return new PullFeed(bus, spec, name, pending, onDelivery, onIdle);
  }

  /** True if the server may send more messages before it is asked again. */
  get isAsking(): boolean {
    return this.#asked > 0;
  }

  /** The reader has passed one message on, so there is room for another. */
  taken(): void {
    this.#untaken--;
    this.#refill(this.isAsking ? HEARTBEAT_MS : UNSURE_HEARTBEAT_MS);
  }

  close(): void {
    this.#end(undefined);
  }

  #refill(heartbeatMs: number): void {
    if (!this.#over && this.#asked + this.#untaken <= this.#batch / 2) this.#pull(heartbeatMs);
  }

  #pull(heartbeatMs: number): void {
    const batch = this.#batch - this.#asked - this.#untaken;
    this.#asked += batch;
    const request = {
      batch,
      expires: EXPIRES_MS * 1e6,
      idle_heartbeat: heartbeatMs * 1e6,
    };
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${this.#stream}.${this.#consumer}`;
    try {
      publish(this.#bus.connection, subject, JSON.stringify(request), this.#inbox);
    } catch (error) {
      this.#end(new BusError('BUS_CLOSED', 'the connection is closed', error));
    }
  }

  #receive(msg: Msg): void {
    if (this.#over) return this.#refuse(msg);
    this.#lastReceived = performance.now();
    if (msg.subject === this.#inbox) {
      this.#status(msg);
      return;
    }
    const delivery = readDelivery(msg, this.#ordered);
    if (delivery === undefined) {
      this.#end(new BusError('BUS_BAD_MESSAGE', `not a delivery: ${msg.reply ?? 'no reply'}`));
      return;
    }
    if (this.#ordered && delivery.consumerSeq !== this.#consumerSeq + 1) {
      this.#end(new BusError('BUS_STREAM_AWAY', 'a message was lost on the way'));
      return;
    }
    this.#consumerSeq = delivery.consumerSeq;
    this.#asked = Math.max(0, this.#asked - 1);
    this.#untaken++;
    this.#onDelivery(delivery);
  }

  /** Gives back messages that come after this feed ended, so that another reader need not wait. */
  #refuse(msg: Msg): void {
    if (!this.#ordered && msg.subject !== this.#inbox) msg.respond('-NAK');
  }

  #status(msg: Msg): void {
    const code = msg.headers?.code ?? 0;
    if (code === 100) {
      this.#onIdle();
      return;
    }
    if (code === 404 || code === 408) {
      const left = Number(msg.headers?.get('Nats-Pending-Messages') ?? '');
      this.#asked = Math.max(0, this.#asked - (Number.isFinite(left) ? left : this.#asked));
      this.#refill(HEARTBEAT_MS);
      return;
    }
    const status = `${code} ${msg.headers?.description ?? ''}`;
    this.#end(new BusError('BUS_STREAM_AWAY', `${this.#stream} ended a read: ${status}`));
  }

  #look(): void {
    if (this.#asked === 0) {
      this.#lastReceived = performance.now();
      return;
    }
    if (performance.now() - this.#lastReceived > SILENCE_MS) {
      this.#end(new BusError('BUS_STREAM_AWAY', `${this.#stream} has gone silent`));
    }
  }

  #unsubscribe(): void {
    if (this.#ordered) return this.#subscription.unsubscribe();
    // As unsubscribe, but messages in flight still come. It fails only on a closed connection.
    this.#subscription.drain().catch(() => undefined);
  }

  #end(reason: BusError | undefined): void {
    if (this.#over) return;
    this.#over = true;
    clearInterval(this.#watch);
    if (!this.#bus.connection.isClosed()) this.#unsubscribe();
    if (this.#ordered && this.#bus.status === 'connected') {
      publish(
        this.#bus.connection,
        `$JS.API.CONSUMER.DELETE.${this.#stream}.${this.#consumer}`,
        '',
      );
    }
    this.#fail(reason);
  }
}

function consumerConfig(spec: ConsumerSpec, name: string): Record<string, unknown> {
  // NATS gives the last message of each subject only to a consumer that names the subjects.
  const lastOfEach = spec.start['deliver_policy'] === 'last_per_subject';
  const filters = spec.filterSubjects ?? (lastOfEach ? ['>'] : []);
  const common = {
    name,
    replay_policy: 'instant',
    max_deliver: -1,
    ...spec.start,
    ...(filters.length === 1 ? { filter_subject: filters[0] } : {}),
    ...(filters.length > 1 ? { filter_subjects: filters } : {}),
  };
  if (spec.durable === undefined) {
    return {
      ...common,
      ack_policy: 'none',
      mem_storage: true,
      num_replicas: 1,
      max_deliver: 1,
      inactive_threshold: FORGET_MS * 1e6,
      ...(spec.headersOnly === true ? { headers_only: true } : {}),
    };
  }
  return {
    ...common,
    durable_name: spec.durable,
    ack_policy: 'explicit',
    ack_wait: (spec.ackWaitMs ?? ACK_WAIT_MS) * 1e6,
    max_ack_pending: spec.maxAckPending ?? 5_000,
    ...(spec.forgetAfterMs === undefined ? {} : { inactive_threshold: spec.forgetAfterMs * 1e6 }),
  };
}

/**
 * Takes apart `$JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<consumer seq>.<ns>.<pending>`, or
 * the newer form with the domain and the account's hash before the stream.
 */
function readDelivery(msg: Msg, ordered: boolean): Delivery | undefined {
  const tokens = msg.reply?.split('.') ?? [];
  if (tokens.length < 9 || tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
  const at = tokens.length === 9 ? 4 : 6;
  return {
    subject: msg.subject,
    data: msg.data,
    header: headersOf(msg),
    headers: () => headerText(msg),
    settle: ordered ? nothing : (how) => void msg.respond(how),
    deliveries: Number(tokens[at]),
    seq: Number(tokens[at + 1]),
    consumerSeq: Number(tokens[at + 2]),
    // Nanoseconds since 1970 do not fit a number; microseconds do.
    timeUs: Number((tokens[at + 3] ?? '0').slice(0, -3)),
    pending: Number(tokens[at + 4]),
  };
}

function nothing(): void {
  // Consumers of one reader need no acknowledgement, and not every reader asks for a heartbeat.
}
