import type { Msg, Subscription } from '@nats-io/nats-core';
import type { Bus } from '../connection/connect.ts';
import { asError } from '../connection/errors.ts';
import { canPublish } from '../connection/inbox.ts';
import { PauseWatch } from '../connection/pause-watch.ts';
import { getBody, INLINE_MAX_BYTES, putBody } from '../streams/bodies.ts';
import {
  isToken,
  REPLY_INBOX,
  REQUEST_CLASSES,
  type RequestClass,
  subjects,
} from '../subjects/names.ts';
import { Bundler, BUNDLES, unbundle } from './bundle.ts';
import { ClassQueue, type QueuedRequest } from './class-queue.ts';
import { LIMITS } from './limits.ts';
import {
  ANNOUNCE_MS,
  CLAIM_MS,
  isNewerRequest,
  MESSAGES,
  packReply,
  packReplyElsewhere,
  readReplyAddress,
  RENEW_MS,
  RENEWALS,
  unpackRequest,
} from './request-frame.ts';
import { packAnnouncement } from './worker-board.ts';

/** A worker's name and limits. */
export interface RequestReceiverOptions {
  /** Unique for each start of a worker; letters, digits, `_`, `-`. */
  readonly workerId: string;
  readonly host: string;
  /** How many run at once, for each class. */
  readonly concurrency?: Partial<Readonly<Record<RequestClass, number>>>;
  /** How many wait here beside them, for each class. */
  readonly queue?: Partial<Readonly<Record<RequestClass, number>>>;
  /** Called if a handler throws; its request is dropped. */
  readonly onError?: (error: Error, request: IncomingRequest) => void;
}

const GRANT_MS = 2_000;

/** Takes requests that gateways send to this worker, claims them at once, and answers. */
export class RequestReceiver {
  readonly #bus: Bus;
  readonly #options: RequestReceiverOptions;
  readonly #messages: Bundler;
  readonly #queues: Readonly<Record<RequestClass, ClassQueue>>;
  readonly #taken = new Map<string, QueuedRequest>();
  readonly #claims = new Claims((subject, bytes) => this.#publish(subject, bytes));
  readonly #grants = new Map<string, (granted: boolean) => void>();
  readonly #subscriptions: Subscription[] = [];
  #announcing: NodeJS.Timeout | undefined;
  #renewals: PauseWatch | undefined;
  #draining = false;
  #drained: (() => void) | undefined;
  #drain: Promise<void> | undefined;
  #unreadable = 0;
  #handler: RequestHandler | undefined;

  constructor(bus: Bus, options: RequestReceiverOptions) {
    if (!isToken(options.workerId)) throw new RangeError(`no worker id: ${options.workerId}`);
    this.#bus = bus;
    this.#options = options;
    this.#messages = new Bundler(bus);
    const queue = (cls: RequestClass): ClassQueue =>
      new ClassQueue(
        options.concurrency?.[cls] ?? LIMITS.worker[cls].concurrency,
        options.queue?.[cls] ?? LIMITS.worker[cls].queue,
        (queued) => void this.#work(queued),
      );
    this.#queues = { auth: queue('auth'), clear: queue('clear'), aes: queue('aes') };
  }

  /** Begins to take requests. Call once. */
  serve(handler: RequestHandler): void {
    if (this.#handler !== undefined) throw new Error('this receiver serves already');
    this.#handler = handler;
    const { connection } = this.#bus;
    for (const cls of REQUEST_CLASSES) {
      const subject = subjects.request(cls, this.#options.workerId);
      this.#subscriptions.push(
        connection.subscribe(subject, { callback: (_error, msg) => this.#receive(cls, msg) }),
      );
    }
    const grants = subjects.grant(this.#options.workerId);
    this.#subscriptions.push(
      connection.subscribe(grants, { callback: (_error, msg) => this.#granted(msg) }),
    );
    this.#subscriptions.push(
      connection.subscribe(subjects.hello, { callback: () => this.#announce() }),
    );
    this.#announcing = setInterval(() => this.#announce(), ANNOUNCE_MS);
    this.#renewals = new PauseWatch({
      everyMs: RENEW_MS,
      gapMs: CLAIM_MS,
      onPause: () => this.#dropUnbegun(),
      onBeat: () => this.#claims.now([...this.#taken.values()].filter((one) => !one.cancelled)),
    });
    this.#announce();
    void this.#bus.closed.then(() => this.#stop());
  }

  /** Requests in flight, for each class, and the number of unreadable ones. */
  stats(): {
    readonly hand: Readonly<Record<RequestClass, number>>;
    readonly running: Readonly<Record<RequestClass, number>>;
    readonly unreadable: number;
  } {
    const { auth, clear, aes } = this.#queues;
    return {
      hand: { auth: auth.hand, clear: clear.hand, aes: aes.hand },
      running: { auth: auth.running, clear: clear.running, aes: aes.running },
      unreadable: this.#unreadable,
    };
  }

  /** Takes no more, finishes those in flight, and resolves. Repeated calls: the same promise. */
  drain(): Promise<void> {
    this.#drain ??= this.#drainOnce();
    return this.#drain;
  }

  async #drainOnce(): Promise<void> {
    this.#draining = true;
    this.#announce();
    if (this.#taken.size > 0) {
      await new Promise<void>((resolve) => (this.#drained = resolve));
    }
    this.#messages.flush();
    if (this.#bus.status === 'connected') await this.#bus.flush();
    this.#stop();
  }

  #stop(): void {
    clearInterval(this.#announcing);
    this.#renewals?.close();
    if (!this.#bus.connection.isClosed()) {
      for (const subscription of this.#subscriptions) subscription.unsubscribe();
    }
    this.#drained?.();
  }

  #receive(cls: RequestClass, msg: Msg): void {
    const address = readReplyAddress(msg.reply);
    const items = unbundle(msg.data);
    if (address === undefined || items === undefined) this.#unreadable++;
    else for (const { slot, bytes } of items) this.#take(cls, address.gateway, slot, bytes);
  }

  #take(cls: RequestClass, gateway: string, slot: string, bytes: Buffer): void {
    const unpacked = unpackRequest(bytes);
    if (unpacked === undefined) {
      this.#unreadable++;
      return;
    }
    const { head, body } = unpacked;
    if (Date.now() >= head.deadlineMs) return; // its sender has given it up by now
    const key = `${gateway}.${slot}`;
    const state = { cancelled: false, started: false, done: false };
    const queued: QueuedRequest = { gateway, slot, key, cls, head, body, ...state };
    if (isNewerRequest(head) || this.#draining || !this.#queues[cls].push(queued)) {
      this.#answerWith(queued, MESSAGES.refuse);
      return;
    }
    this.#taken.set(key, queued);
    this.#claims.soon(queued);
    this.#queues[cls].next();
  }

  async #work(queued: QueuedRequest): Promise<void> {
    const { head } = queued;
    try {
      if (queued.cancelled || head.deadlineMs <= Date.now()) return;
      queued.started = true;
      const { reference } = head;
      const body =
        reference === undefined ? queued.body : await getBody(this.#bus, 'req', reference);
      const answer = await this.#answer(this.#request(queued, body));
      if (answer.kind !== 'reply') this.#answerWith(queued, MESSAGES[answer.kind]);
      else if (answer.body.length <= INLINE_MAX_BYTES) {
        this.#answerWith(queued, packReply(answer.body, answer.trace));
      } else {
        const put = await putBody(this.#bus, 'rep', answer.body);
        this.#answerWith(queued, packReplyElsewhere(put, answer.trace));
      }
    } catch (error) {
      // The body could not be fetched or stored: another worker may succeed.
      this.#answerWith(queued, MESSAGES.refuse);
      this.#options.onError?.(asError(error), this.#request(queued, queued.body));
    } finally {
      queued.done = true;
      this.#taken.delete(queued.key);
      if (this.#taken.size === 0) this.#drained?.();
      this.#queues[queued.cls].finished(queued);
    }
  }

  async #answer(request: IncomingRequest): Promise<Answer> {
    try {
      if (this.#handler === undefined) return { kind: 'drop' };
      return await this.#handler(request);
    } catch (error) {
      this.#options.onError?.(asError(error), request);
      return { kind: 'drop' };
    }
  }

  #request(queued: QueuedRequest, body: Uint8Array): IncomingRequest {
    const { head, cls } = queued;
    return {
      id: head.id,
      class: cls,
      body,
      peer: head.peer,
      gatewayHost: head.host,
      receivedMs: head.receivedMs,
      readsStore: head.readsStore,
      deadlineMs: head.deadlineMs,
      takeOnce: () => this.#takeOnce(queued),
      stepAside: () => this.#queues[cls].stepAside(queued),
    };
  }

  #takeOnce(queued: QueuedRequest): Promise<boolean> {
    const { key } = queued;
    return new Promise((resolve) => {
      const settle = (granted: boolean): void => {
        timer.clear();
        this.#grants.delete(key);
        resolve(granted);
      };
      const timer = this.#bus.wheel.set(GRANT_MS, () => settle(false));
      this.#grants.set(key, settle);
      this.#answerWith(queued, MESSAGES.askGrant);
    });
  }

  /** `<gateway>.<slot> 1`: no other worker is tried. `… 0`: another worker has it. */
  #granted(msg: Msg): void {
    const [key = '', granted] = Buffer.from(msg.data).toString('latin1').split(' ');
    this.#grants.get(key)?.(granted === '1');
    if (granted === '1') return;
    const queued = this.#taken.get(key);
    if (queued !== undefined && !queued.started) queued.cancelled = true;
  }

  #announce(): void {
    const { auth, clear, aes } = this.#queues;
    const announcement = packAnnouncement({
      host: this.#options.host,
      draining: this.#draining,
      load: { auth: auth.load, clear: clear.load, aes: aes.load },
    });
    this.#publish(subjects.worker(this.#options.workerId), Buffer.from(announcement));
  }

  /** Claims lapse while this process is paused: another worker may have these now. */
  #dropUnbegun(): void {
    for (const queued of this.#taken.values()) {
      if (queued.started) continue;
      queued.cancelled = true;
      this.#answerWith(queued, MESSAGES.refuse);
    }
  }

  /** Sends a message about a request to its gateway. */
  #answerWith({ gateway, slot }: QueuedRequest, bytes: Uint8Array): void {
    this.#messages.add(`${REPLY_INBOX}.${gateway}.${BUNDLES}`, slot, bytes);
  }

  #publish(subject: string, bytes: Uint8Array): void {
    if (canPublish(this.#bus.connection)) this.#bus.connection.publish(subject, bytes);
  }
}

/** How long a claim may wait for others, in ms: a sixtieth of the time that a gateway allows. */
const CLAIM_AFTER_MS = 20;

/**
 * Claims requests at their gateways, many in one message. Most requests are answered within a few
 * milliseconds and never claimed: the answer proves as much.
 */
export class Claims {
  readonly #publish: (subject: string, bytes: Uint8Array) => void;
  #waiting: QueuedRequest[] = [];

  constructor(publish: (subject: string, bytes: Uint8Array) => void) {
    this.#publish = publish;
  }

  /** Claims a request soon, unless it is `done` by then. */
  soon(queued: QueuedRequest): void {
    this.#waiting.push(queued);
    if (this.#waiting.length > 1) return;
    setTimeout(() => {
      const waiting = this.#waiting;
      this.#waiting = [];
      this.now(waiting.filter((one) => !one.done));
    }, CLAIM_AFTER_MS);
  }

  /** Claims these, or renews their claims. */
  now(mine: readonly QueuedRequest[]): void {
    const slots = new Map<string, string[]>();
    for (const queued of mine) {
      const list = slots.get(queued.gateway);
      if (list === undefined) slots.set(queued.gateway, [queued.slot]);
      else list.push(queued.slot);
    }
    for (const [gateway, list] of slots) {
      this.#publish(`${REPLY_INBOX}.${gateway}.${RENEWALS}`, Buffer.from(list.join(' ')));
    }
  }
}

/** A request as a worker gets it. */
export interface IncomingRequest {
  /** The same for every try of one request. */
  readonly id: string;
  readonly class: RequestClass;
  readonly body: Uint8Array;
  /** The peer's address as the gateway saw it. */
  readonly peer: string | undefined;
  readonly gatewayHost: string;
  /** When the gateway had it, in ms since 1970; undefined if it did not send that. */
  readonly receivedMs: number | undefined;
  readonly readsStore: boolean | undefined;
  /** In ms since 1970. */
  readonly deadlineMs: number;
  /**
   * Asks the gateway to try no other worker from here on, for work that leaves traces outside of
   * the streams (runners, wheels, tokens). False: another worker has it, or the gateway is silent.
   * Then do not do the work.
   */
  readonly takeOnce: () => Promise<boolean>;
  /**
   * Gives its place to the next request of its class and continues: for a wait whose length others
   * choose. The caller has to bound such waits.
   */
  readonly stepAside: () => void;
}

/**
 * A worker's result for a request. `drop`: no answer is sent. `refuse`: the worker did nothing, and
 * another worker, or this one later, gets it. `trace`: its note, opaque here.
 */
export type Answer =
  | { readonly kind: 'reply'; readonly body: Uint8Array; readonly trace?: string }
  | { readonly kind: 'drop' }
  | { readonly kind: 'refuse' };

/** Answers one request. */
export type RequestHandler = (request: IncomingRequest) => Promise<Answer>;
