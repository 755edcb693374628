import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS, type RequestOutcome, type RequestSenderStats } from '@brine/bus/rpc';
import { FairShare } from '@brine/bus/share';
import { nowMs } from '@brine/telemetry';
import type { ZmqPeer, ZmqRequest } from '@brine/zmq';
import { askerOf, classify, type ClearRequest } from './classify.ts';
import { BAD_LOAD_REPLY, commandAnswer } from './no-answer.ts';
import type { Spans, Workers } from './ports.ts';
import { addressOf, type Asker, type Peers, type RequestMemory } from './ports.ts';
import { PublishLane, type PublishLaneStats } from './publish-lane.ts';
import { type LostReason, SealedLane, type SealedLaneStats } from './sealed-lane.ts';
import { GatewaySpans } from './spans.ts';
import { RefusedMinions } from './urgent-log-ins.ts';

/** The parts of the gateway. */
export interface GatewayPorts {
  readonly peers: Peers;
  readonly workers: Workers;
  readonly memory: RequestMemory;
  readonly spans: Spans;
  /** Salt: `minimum_auth_version`. */
  readonly minimumAuthVersion: number;
  /** Names this process in request ids. */
  readonly incarnation?: string;
  /** Called once per outage for each reason that sealed requests are given up for. */
  readonly onLost?: (reason: LostReason) => void;
}

/** Counts of log-ins. */
export interface LoginStats {
  readonly waiting: number;
  readonly inFlight: number;
  /** Arrived while too many were in hand. */
  readonly refused: number;
  /** Without an answer at their deadline. */
  readonly silent: number;
  /** Preferred, because a refused request waits for them. */
  readonly urgent: number;
  /** Admitted one at a time, because returns were pressing. */
  readonly gaveWay: number;
  /** Abandoned: their minion had hung up before their turn. */
  readonly abandoned: number;
}

/** The requests in hand, and the counts. */
export interface GatewayStatus {
  readonly inFlight: number;
  readonly answered: number;
  readonly unanswered: number;
  /** Answered here, with a stock master's refusal. */
  readonly refused: number;
  readonly auth: LoginStats;
  readonly publish: PublishLaneStats;
  /** Sealed requests that wait while others of their minion are under way. */
  readonly minions: FairShare['stats'];
  readonly sealed: SealedLaneStats;
  readonly workers: RequestSenderStats;
}

const DRAIN_MS = 3_000;
const DRAIN_LOOK_MS = 20;

/**
 * Port 4506: takes requests off the socket, sends each to a worker by its class, returns the
 * answer. Has no keys and changes no byte. Every request gets one id for all its tries.
 */
export class Gateway {
  readonly #ports: GatewayPorts;
  readonly #publish: PublishLane;
  readonly #sealed: SealedLane;
  readonly #refusedMinions = new RefusedMinions();
  readonly #minions = new FairShare(LIMITS.sealed.share);
  readonly #spans: GatewaySpans;
  readonly #incarnation: string;
  /** Numbers of connections whose requests have no name. */
  readonly #nameless = new WeakMap<ZmqPeer, number>();
  #next = 0;
  #inFlight = 0;
  #answered = 0;
  #unanswered = 0;
  #refused = 0;
  readonly #logins = { refused: 0, silent: 0, urgent: 0, abandoned: 0 };
  #stopping = false;

  constructor(ports: GatewayPorts) {
    this.#ports = ports;
    this.#incarnation = ports.incarnation ?? randomBytes(9).toString('hex');
    this.#publish = new PublishLane(ports.workers, ports.memory);
    this.#sealed = new SealedLane(ports.workers, ports.onLost);
    this.#spans = new GatewaySpans(ports.spans);
  }

  get status(): GatewayStatus {
    const workers = this.#ports.workers.stats();
    const { waiting, inFlight } = workers.classes.auth;
    return {
      inFlight: this.#inFlight,
      answered: this.#answered,
      unanswered: this.#unanswered,
      refused: this.#refused,
      auth: { waiting, inFlight, ...this.#logins, gaveWay: workers.gaveWay },
      publish: this.#publish.stats,
      minions: this.#minions.stats,
      sealed: this.#sealed.stats,
      workers,
    };
  }

  /** Serves until the socket is closed; rejects when reading fails. */
  async run(): Promise<void> {
    for await (const request of this.#ports.peers) {
      // Peers without an answer ask again, and then reach the next process.
      if (this.#stopping) continue;
      this.#inFlight += 1;
      void this.#serve(request).finally(() => {
        this.#inFlight -= 1;
      });
    }
  }

  /** Resolves when all sealed requests for redelivery are with workers, or in time. */
  async delivered(maxMs: number): Promise<void> {
    const until = performance.now() + maxMs;
    while (this.#sealed.stats.kept > 0 && performance.now() < until) {
      await sleep(DRAIN_LOOK_MS);
    }
  }

  /** Takes no more requests and waits up to 3 s for those in hand. */
  async drain(): Promise<void> {
    this.#stopping = true;
    const until = performance.now() + DRAIN_MS;
    while (this.#inFlight > this.#sealed.stats.kept && performance.now() < until) {
      await sleep(DRAIN_LOOK_MS);
    }
    this.#sealed.close();
    await this.#publish.close();
  }

  async #serve(request: ZmqRequest): Promise<unknown> {
    const { body } = request;
    const found = classify(body, this.#ports.minimumAuthVersion);
    if (found.class === 'refused') {
      this.#refused += 1;
      return this.#reply(request, found.reply);
    }
    const id = `${this.#incarnation}-${(this.#next++).toString(36)}`;
    // Measured here: the wait for a minion's share belongs to the gateway.
    const startMs = nowMs();
    if (found.class === 'aes') {
      const minion = found.minion ?? this.#peerName(request);
      return this.#minions.run(minion, body.length, () =>
        this.#serveSealed(id, request, found.minion, startMs),
      );
    }
    if (found.class === 'auth') return this.#serveLogin(id, request, found.minion, startMs);
    if (found.cmd === 'publish') {
      return this.#servePublish(id, request, found, startMs);
    }
    const deadlineMs = Date.now() + LIMITS.command.waitsMs;
    const by = { ...addressOf(request), ...askerOf(found) };
    const sent = { id, class: 'clear', body, deadlineMs, ...by } as const;
    const outcome = await this.#ports.workers.send(sent);
    this.#reply(request, commandAnswer(outcome));
    if (outcome.kind === 'reply') this.#spans.request(outcome, { id, startMs });
  }

  async #serveLogin(
    id: string,
    request: ZmqRequest,
    minion: string | undefined,
    startMs: number,
  ): Promise<void> {
    const { body, peer } = request;
    const urgent = this.#refusedMinions.take(minion);
    if (urgent) this.#logins.urgent += 1;
    const deadlineMs = Date.now() + LIMITS.login.waitsMs;
    const isGone = (): boolean => peer.gone;
    const by = { ...addressOf(request), urgent, isGone };
    const outcome = await this.#ports.workers.send({ id, class: 'auth', body, deadlineMs, ...by });
    this.#reply(request, this.#loginAnswer(outcome));
    if (outcome.kind === 'reply') this.#spans.request(outcome, { id, startMs, minion });
  }

  /**
   * A log-in that no worker answers is left unanswered: its minion asks again. Without any worker
   * it gets `bad load`, the one text that means "not now".
   */
  #loginAnswer(outcome: RequestOutcome): Uint8Array | undefined {
    if (outcome.kind === 'reply') return outcome.body;
    const why = outcome.kind === 'expired' ? outcome.why : undefined;
    if (why === 'limit') this.#logins.refused += 1;
    else if (why === 'gone') this.#logins.abandoned += 1;
    else if (why !== undefined && !this.#ports.workers.ready) return BAD_LOAD_REPLY;
    else this.#logins.silent += 1;
    return undefined;
  }

  async #serveSealed(
    id: string,
    request: ZmqRequest,
    minion: string | undefined,
    startMs: number,
  ): Promise<void> {
    const by = { ...addressOf(request), ...(minion === undefined ? {} : { asker: minion }) };
    const outcome = await this.#sealed.send(id, request.body, startMs, by);
    this.#reply(request, outcome?.body);
    if (outcome === undefined) return;
    if (BAD_LOAD_REPLY.equals(outcome.body)) this.#refusedMinions.add(minion);
    this.#spans.request(outcome, { id, startMs, minion });
  }

  async #servePublish(
    id: string,
    request: ZmqRequest,
    found: ClearRequest,
    startMs: number,
  ): Promise<void> {
    const user = found.user ?? this.#peerName(request);
    const { named = false } = found;
    const by = { ...askerOf(found), named };
    const answer = await this.#publish.send(id, request.body, request, user, by);
    // Joined another request, whose answer serves both.
    if (answer === undefined) return;
    const { askers } = answer;
    const handed = askers.map((one) => this.#reply(one, answer.body));
    this.#spans.request(answer, { id, startMs, askers: askers.length });
    // If the socket is gone, no peer got the answer, and the same bytes come again, here or
    // elsewhere. Ask now: a stock CLI hangs up within a millisecond of its answer.
    answer.handed(handed.filter(Boolean).length);
  }

  /** True if the socket took the answer. */
  #reply({ peer }: Asker, body: Uint8Array | undefined): boolean {
    const isHanded = body !== undefined && this.#ports.peers.reply(peer, body);
    if (isHanded) this.#answered += 1;
    else this.#unanswered += 1;
    return isHanded;
  }

  /** Names a connection whose requests name no peer. */
  #peerName({ peer }: ZmqRequest): string {
    let number = this.#nameless.get(peer);
    if (number === undefined) this.#nameless.set(peer, (number = this.#next++));
    return `peer ${number}`;
  }
}
