import type { VirtualTime } from '../virtual-time.ts';
import type { SimMessage } from './message.ts';
import { matcherOf, status } from './message.ts';
import type { SimStream, Stored } from './stream.ts';

/** Where deliveries go: to an inbox, under the subject that they were stored with. */
export interface Wire {
  readonly deliver: (inbox: string, message: SimMessage) => void;
  readonly hears: (inbox: string) => boolean;
}

interface Pull {
  readonly inbox: string;
  left: number;
  isOver: boolean;
}

interface Unacknowledged {
  deliveries: number;
  /** When it is given again unless it is acknowledged. */
  again: number;
}

/** What a consumer has on disk. */
export interface Place {
  readonly next: number;
  readonly floor: number;
  readonly open: ReadonlyMap<number, Unacknowledged>;
}

/** A pull consumer: gives messages to who asks, again where no acknowledgement comes. */
export class SimConsumer {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly isDurable: boolean;
  readonly #time: VirtualTime;
  readonly #wire: Wire;
  readonly #filters: readonly ((subject: string) => boolean)[];
  readonly #ackWaitMs: number;
  readonly #maxOpen: number;
  #stream: SimStream;
  /** Of a reader of the last message of each subject: those that were there. */
  #first: number[] = [];
  #next = 1;
  #given = 0;
  #open = new Map<number, Unacknowledged>();
  #pulls: Pull[] = [];
  #isOver = false;

  constructor(
    stream: SimStream,
    config: Readonly<Record<string, unknown>>,
    time: VirtualTime,
    wire: Wire,
  ) {
    this.#stream = stream;
    this.config = config;
    this.name = String(config['name']);
    this.isDurable = typeof config['durable_name'] === 'string';
    this.#time = time;
    this.#wire = wire;
    const one = config['filter_subject'];
    const several = config['filter_subjects'];
    const filters =
      typeof one === 'string' ? [one] : ((several as readonly string[] | undefined) ?? ['>']);
    this.#filters = filters.map(matcherOf);
    this.#ackWaitMs = Number(config['ack_wait'] ?? 30e9) / 1e6;
    this.#maxOpen = Number(config['max_ack_pending'] ?? 1_000);
    this.#begin();
  }

  /** What `CONSUMER.INFO` and `CONSUMER.LIST` tell. */
  get info(): Readonly<Record<string, unknown>> {
    return {
      name: this.name,
      config: this.config,
      num_pending: this.#pending(),
      num_ack_pending: this.#open.size,
      ack_floor: { stream_seq: this.floor },
    };
  }

  /** Everything up to here is acknowledged. */
  get floor(): number {
    return this.#open.size === 0 ? this.#next - 1 : Math.min(...this.#open.keys()) - 1;
  }

  get place(): Place {
    const open = new Map([...this.#open].map(([seq, one]) => [seq, { ...one }] as const));
    return { next: this.#next, floor: this.floor, open };
  }

  /** As after a start of the server: what was asked is forgotten, what is open is given again. */
  restarted(stream = this.#stream, place: Place = this.place): void {
    this.#stream = stream;
    this.#next = place.next;
    this.#open = new Map([...place.open].map(([seq, one]) => [seq, { ...one }] as const));
    for (const pull of this.#pulls) pull.isOver = true;
    this.#pulls = [];
    for (const one of this.#open.values()) one.again = this.#time.now + this.#ackWaitMs;
    for (const seq of this.#open.keys()) this.#lookAgain(seq, this.#ackWaitMs);
  }

  end(): void {
    this.#isOver = true;
    for (const pull of this.#pulls) pull.isOver = true;
  }

  pull(inbox: string, request: Readonly<Record<string, unknown>>): void {
    const pull: Pull = { inbox, left: Number(request['batch'] ?? 1), isOver: false };
    this.#pulls.push(pull);
    this.#time.after(Number(request['expires']) / 1e6, () => this.#expire(pull));
    this.#beat(pull, Number(request['idle_heartbeat']) / 1e6);
    this.pump();
  }

  /** Forgets those that ask over a connection that is gone. */
  interestLost(): void {
    for (const pull of this.#pulls) if (!this.#wire.hears(pull.inbox)) pull.isOver = true;
    this.#pulls = this.#pulls.filter((pull) => !pull.isOver);
  }

  settle(seq: number, how: string): void {
    const open = this.#open.get(seq);
    if (open === undefined) return;
    if (how === '+WPI') {
      open.again = this.#time.now + this.#ackWaitMs;
      this.#lookAgain(seq, this.#ackWaitMs);
      return;
    }
    if (!how.startsWith('-NAK')) {
      this.#open.delete(seq);
      this.#stream.done(seq);
      this.pump();
      return;
    }
    const { delay = 0 } = JSON.parse(how.slice(4) || '{}') as { delay?: number };
    open.again = this.#time.now + delay / 1e6;
    this.#lookAgain(seq, delay / 1e6);
  }

  /** Gives what there is to who asks. */
  pump(): void {
    if (this.#isOver) return;
    for (;;) {
      const pull = this.#pulls.find((one) => !one.isOver && one.left > 0);
      if (pull === undefined) return;
      const stored = this.#due() ?? this.#fresh();
      if (stored === undefined) return;
      this.#give(stored, pull);
    }
  }

  #begin(): void {
    const stream = this.#stream;
    switch (this.config['deliver_policy']) {
      case 'new':
        this.#next = stream.lastSeq + 1;
        return;
      case 'by_start_sequence':
        this.#next = Number(this.config['opt_start_seq']);
        return;
      case 'by_start_time': {
        const time = Date.parse(String(this.config['opt_start_time']));
        this.#next = stream.since(time)?.seq ?? stream.lastSeq + 1;
        return;
      }
      case 'last_per_subject':
        this.#first = stream.lastOfEach().filter((seq) => this.#wants(stream.messages.get(seq)));
        this.#next = stream.lastSeq + 1;
        return;
      default:
        this.#next = stream.firstSeq;
    }
  }

  #wants(stored: Stored | undefined): boolean {
    if (stored === undefined) return false;
    return this.#filters.some((matches) => matches(stored.message.subject));
  }

  #due(): Stored | undefined {
    for (const [seq, open] of this.#open) {
      if (open.again > this.#time.now) continue;
      const stored = this.#stream.messages.get(seq);
      if (stored !== undefined) return stored;
      this.#open.delete(seq);
    }
    return undefined;
  }

  #fresh(): Stored | undefined {
    const first = this.#first.shift();
    if (first !== undefined) return this.#stream.messages.get(first) ?? this.#fresh();
    if (this.isDurable && this.#open.size >= this.#maxOpen) return undefined;
    while (this.#next <= this.#stream.lastSeq) {
      const stored = this.#stream.messages.get(this.#next);
      this.#next += 1;
      if (this.#wants(stored)) return stored;
    }
    return undefined;
  }

  #give(stored: Stored, pull: Pull): void {
    const { seq, timeMs, message } = stored;
    pull.left -= 1;
    if (pull.left === 0) this.#end(pull);
    this.#given += 1;
    let deliveries = 1;
    if (this.isDurable) {
      const open = this.#open.get(seq) ?? { deliveries: 0, again: 0 };
      open.deliveries += 1;
      open.again = this.#time.now + this.#ackWaitMs;
      deliveries = open.deliveries;
      // Redeliveries in the order in which they were given.
      this.#open.delete(seq);
      this.#open.set(seq, open);
      this.#lookAgain(seq, this.#ackWaitMs);
    }
    const place = `${this.#stream.name}.${this.name}.${deliveries}.${seq}.${this.#given}`;
    const reply = `$JS.ACK.${place}.${timeMs}000000.${this.#pending()}`;
    const data = this.config['headers_only'] === true ? new Uint8Array(0) : message.data;
    this.#wire.deliver(pull.inbox, { ...message, data, reply });
  }

  #lookAgain(seq: number, inMs: number): void {
    this.#time.after(inMs, () => {
      const open = this.#open.get(seq);
      if (open !== undefined && open.again <= this.#time.now) this.pump();
    });
  }

  #pending(): number {
    let count = this.#first.length;
    for (let seq = this.#next; seq <= this.#stream.lastSeq; seq += 1) {
      if (this.#wants(this.#stream.messages.get(seq))) count += 1;
    }
    return count;
  }

  #expire(pull: Pull): void {
    if (pull.isOver) return;
    this.#end(pull);
    const left = { 'Nats-Pending-Messages': String(pull.left) };
    const headers = status(408, 'Request Timeout', left);
    this.#wire.deliver(pull.inbox, { subject: pull.inbox, data: new Uint8Array(0), headers });
  }

  #beat(pull: Pull, everyMs: number): void {
    this.#time.after(everyMs, () => {
      if (pull.isOver || this.#isOver) return;
      const headers = status(100, 'Idle Heartbeat');
      this.#wire.deliver(pull.inbox, { subject: pull.inbox, data: new Uint8Array(0), headers });
      this.#beat(pull, everyMs);
    });
  }

  #end(pull: Pull): void {
    pull.isOver = true;
    this.#pulls = this.#pulls.filter((one) => one !== pull);
  }
}
