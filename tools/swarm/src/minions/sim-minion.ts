import { setTimeout as sleep } from 'node:timers/promises';
import type { Crypticle } from '@brine/crypt';
import { ThinPeer } from '@brine/zmq';
import { monotonicMs } from '../clock.ts';
import type { JobRun } from '../load/job-run.ts';
import type { Behaviour } from '../types.ts';
import { between, delayOf } from './behaviours.ts';
import { hostileBody } from './hostile.ts';
import type { KeyPair } from './key-pool.ts';
import type { ReadJob } from './publications.ts';
import { RequestLine } from './request-line.ts';
import { ReturnQueue } from './return-queue.ts';
import type { MinionFields } from './sealed-request.ts';
import type { Surroundings } from './surroundings.ts';

/** The end of a log-in, and the number of repeated sends. */
export interface LogInEnd {
  readonly kind: 'accepted' | 'pending' | 'refused' | 'timed-out';
  readonly resent: number;
}

// Salt: auth_timeout, auth_tries.
const AUTH_TIMEOUT_MS = 5_000;
const AUTH_TRIES = 7;
const DROP_WAIT_MS = 100;

/** One simulated minion: two connections, a session key, a behaviour. */
export class SimMinion {
  readonly index: number;
  readonly id: string;
  readonly pair: KeyPair;
  readonly behaviour: Behaviour;
  readonly line: RequestLine;
  readonly fields: MinionFields;
  readonly #around: Surroundings;
  readonly #returns: ReturnQueue;
  #session: Crypticle | undefined;
  #subscriber: ThinPeer | undefined;
  #subscribed = false;
  #loggingIn: Promise<LogInEnd> | undefined;
  #closed = false;

  constructor(
    index: number,
    id: string,
    pair: KeyPair,
    behaviour: Behaviour,
    around: Surroundings,
  ) {
    this.index = index;
    this.id = id;
    this.pair = pair;
    this.behaviour = behaviour;
    this.#around = around;
    this.line = new RequestLine(around.host, around.retPort, around.deadlines);
    this.fields = around.requests.fields(id, pair.tok);
    this.#returns = new ReturnQueue(this, around);
  }

  /** The key for requests of this minion; undefined before its log-in. */
  get key(): Crypticle | undefined {
    return this.#around.version === 3 ? this.#session : this.#around.knowledge.aes;
  }

  /** True if a request can be sent at once. */
  get free(): boolean {
    return !this.line.busy && this.key !== undefined && this.#loggingIn === undefined;
  }

  /** Logs in on the request line. Concurrent calls share the answer. */
  logIn(): Promise<LogInEnd> {
    this.#loggingIn ??= this.#logInNow().finally(() => (this.#loggingIn = undefined));
    return this.#loggingIn;
  }

  /** Subscribes, and reconnects after a wait when the connection is lost. */
  async subscribe(): Promise<void> {
    const port = this.#around.knowledge.publishPort;
    if (port === undefined) throw new Error('the publish port is not known before a log-in');
    if (this.#subscribed) return;
    const peer = await ThinPeer.open({
      host: this.#around.host,
      port,
      socketType: 'SUB',
      keepAliveMs: this.#around.keepAliveMs,
      onMessage: (frames) => this.#publication(frames.at(-1)),
      onClose: () => this.#unsubscribed(),
    });
    if (this.#closed) return peer.close();
    peer.subscribe();
    this.#subscriber = peer;
    this.#subscribed = true;
    this.#around.counts.connected += 1;
  }

  /** Hangs up both connections; they reconnect, the subscription after `waitMs`. */
  async drop(waitMs: number): Promise<void> {
    this.line.drop();
    const peer = this.#subscriber;
    this.#subscriber = undefined;
    peer?.close();
    await sleep(waitMs);
    if (this.#closed) return;
    await this.subscribe().catch(() => this.#later());
  }

  close(): void {
    this.#closed = true;
    this.#returns.close();
    this.line.close();
    this.#subscriber?.close();
  }

  #logInNow(): Promise<LogInEnd> {
    const { logIns, counts } = this.#around;
    return new Promise((resolve) => {
      let resent = 0;
      const send = (): void => {
        const attempt = logIns.begin(this);
        this.line.request([attempt.body], AUTH_TIMEOUT_MS, (reply) => {
          if (reply === undefined) {
            if (resent === AUTH_TRIES - 1) return resolve({ kind: 'timed-out', resent });
            resent += 1;
            counts.resends += 1;
            return this.line.whenFree(send);
          }
          const outcome = logIns.finish(this, attempt, reply, true);
          if (outcome.kind === 'accepted' && outcome.session) this.#session = outcome.session;
          resolve({ kind: outcome.kind, resent });
        });
      };
      this.line.whenFree(send);
    });
  }

  #unsubscribed(): void {
    if (this.#subscribed) this.#around.counts.connected -= 1;
    this.#subscribed = false;
    // Hung up by the other side, not by `drop` or `close`.
    if (this.#closed || this.#subscriber === undefined) return;
    this.#around.counts.subscriptionsLost += 1;
    this.#later();
  }

  #later(): void {
    this.#subscriber = undefined;
    const timer = setTimeout(() => {
      if (!this.#closed) this.subscribe().catch(() => this.#later());
    }, between(this.#around.reconnectMs));
    timer.unref();
  }

  #publication(frame: Buffer | undefined): void {
    if (frame === undefined) return;
    this.#around.counts.publications += 1;
    const read = this.#around.publications.read(frame);
    if (read === 'ignored') return;
    if (read !== 'stale') return this.#job(read);
    // An unknown AES key: log in, and read the same frame again.
    const kept = Buffer.from(frame);
    void this.logIn().then((end) => {
      const again = end.kind === 'accepted' ? this.#around.publications.read(kept) : 'ignored';
      if (typeof again === 'object') this.#job(again);
    });
  }

  #job({ run, matches }: ReadJob): void {
    if (!matches(this.id)) return;
    const nowMs = monotonicMs();
    if (!run.receive(this.index, nowMs)) {
      return this.#around.ledger?.again(run.job.jid, this.id, nowMs);
    }
    const { answer, hostile } = this.behaviour;
    if (answer === 'never') return;
    if (hostile !== undefined) return this.#attack(hostile);
    const times = answer === 'twice' ? 2 : 1;
    run.open += times;
    const delayMs = delayOf(this.behaviour);
    if (delayMs > 0) setTimeout(() => void this.#answer(run, times), delayMs);
    else if (this.behaviour.drop || this.behaviour.logInAgain) void this.#answer(run, times);
    else this.#returns.push(run, times);
  }

  async #answer(run: JobRun, times: number): Promise<void> {
    if (this.#closed) return;
    if (this.behaviour.drop) await this.drop(DROP_WAIT_MS);
    if (this.behaviour.logInAgain) await this.logIn();
    this.#returns.push(run, times);
  }

  #attack(kind: NonNullable<Behaviour['hostile']>): void {
    const { counts } = this.#around;
    const body = hostileBody(kind, this, this.#around.requests);
    if (body === undefined || this.line.busy) return;
    counts.hostileSent += 1;
    this.line.request(body, AUTH_TIMEOUT_MS, () => undefined);
  }
}
