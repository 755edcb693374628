import { Broken } from './broken.ts';
import { LAST_COMMAND, Witness } from './checks.ts';
import type { ClientPlan } from './client.ts';
import { runClient } from './client.ts';
import { schedule } from './faults.ts';
import { SimMinion } from './minion.ts';
import type { Plan } from './plan.ts';
import { drawPlan, named } from './plan.ts';
import { Cluster, MINION_KEY, USER_KEY } from './world/cluster.ts';
import { Random } from './world/random.ts';
import { eventBus, gateway, publisher, returner, runner, worker } from './world/services.ts';
import { Trace } from './world/trace.ts';
import { realMs, VirtualTime } from './world/virtual-time.ts';

/** What a run came to. */
export interface Outcome {
  readonly seed: number;
  readonly kind: Plan['kind'];
  readonly digest: string;
  /** The rule that was broken, with what broke it. */
  readonly broken: Broken | undefined;
  readonly trace: readonly string[];
  readonly costMs: number;
  /** Timers that came due. */
  readonly turns: number;
}

/** A client gives up after 3 tries of 5 s, then asks once more for 10 s: longer is for ever. */
const CLIENTS_END_MS = 90_000;
/** All that was lost is sent again, held or redelivered within this. */
const SETTLE_MS = 40_000;
/** Minions are deaf for 11 s at most, and a log-in may begin with a request that was lost. */
const WELL_AFTER_MS = 17_000;
const MINION_RESTART_MS = 3_000;

const LAST: ClientPlan = {
  name: LAST_COMMAND,
  fun: 'test.ping',
  arg: [],
  tgt: '*',
  tgtType: 'glob',
};

/** Runs one seed from start to end. The clocks of this process are virtual meanwhile. */
export async function runSeed(seed: number): Promise<Outcome> {
  const random = new Random(seed);
  const dice = random.fork();
  const time = new VirtualTime(() => dice.next());
  const trace = new Trace(time);
  const startedMs = realMs();
  let broken: Broken | undefined;
  using _installed = time.install();
  const cluster = new Cluster(time, random.fork(), trace);
  const plan = drawPlan(random.fork());
  const { kind } = plan;
  try {
    await new Simulation(cluster, plan).run();
  } catch (error) {
    // An uncaught error would end a process of the master.
    broken = error instanceof Broken ? error : new Broken('nothing throws', String(error));
    trace.note('BROKEN', broken.message);
    if (broken !== error) trace.aside('-', error instanceof Error ? (error.stack ?? '') : '');
    // One is enough; what comes now is only the end.
    cluster.nats.streams.onStored = () => undefined;
    cluster.store.onCommit = () => undefined;
  }
  cluster.close();
  // What the killed processes still had in hand comes to its end.
  await time.run(time.now + 5_000, () => false);
  const costMs = realMs() - startedMs;
  const digest = trace.digest();
  return { seed, kind, digest, broken, trace: trace.lines, costMs, turns: time.fired };
}

/** How often minions look whether there is a publisher, before they start. */
const PUBLISHER_LOOK_MS = 10;

class Simulation {
  readonly #cluster: Cluster;
  readonly #plan: Plan;
  readonly #witness: Witness;
  readonly #minions: SimMinion[] = [];
  #incarnations = 0;
  #failure: unknown;
  #open = 0;

  constructor(cluster: Cluster, plan: Plan) {
    this.#cluster = cluster;
    this.#plan = plan;
    this.#witness = new Witness(cluster, plan.kind, (error) => {
      this.#failure ??= error;
    });
  }

  async run(): Promise<void> {
    const { time, trace } = this.#cluster;
    const { faultsUntilMs } = this.#plan;
    this.#begin();
    await this.#until(faultsUntilMs, () => false);
    this.#calm();
    trace.note('-', 'no more faults');
    await this.#until(faultsUntilMs + CLIENTS_END_MS, () => this.#open === 0);
    if (this.#open > 0) throw new Broken('every client comes to its end', `${this.#open} wait`);
    const calmAtMs = time.now + this.#plan.calmMs;
    await this.#until(calmAtMs + SETTLE_MS, () => time.now >= calmAtMs && this.#isSettled());
    this.#witness.checkEnd();
  }

  /** Nothing is in flight any more. */
  #isSettled(): boolean {
    const { streams } = this.#cluster.nats;
    const isRead = ['EVENTS', 'PUBLICATIONS'].every((name) => {
      const info = streams.consumer(name, 'store')?.info;
      return info?.['num_pending'] === 0 && info['num_ack_pending'] === 0;
    });
    const status = this.#cluster.running('gateway')?.status() as { inFlight: number } | undefined;
    return isRead && status?.inFlight === 0 && this.#minions.every((one) => one.isIdle);
  }

  /** What breaks a rule meanwhile ends the run there. */
  async #until(ms: number, isOver: () => boolean): Promise<void> {
    await this.#cluster.time.run(ms, () => this.#failure !== undefined || isOver());
    if (this.#failure instanceof Error) throw this.#failure;
    if (this.#failure !== undefined) throw new Error('a part of the simulation failed');
  }

  #begin(): void {
    const cluster = this.#cluster;
    const { kind, clients, faults, net, storeLost, faultsUntilMs } = this.#plan;
    this.#guard(this.#startAll());
    for (const { atMs, plan } of clients) this.#startClient(atMs, plan);
    this.#startClient(faultsUntilMs + WELL_AFTER_MS, LAST);
    for (const fault of faults) {
      schedule(fault, {
        cluster,
        killMinion: (index) => this.#killMinion(index),
        cutMinion: (index) => this.#minions[index]?.cut(),
        copied: () => this.#witness.copied(),
        restored: () => this.#witness.restored(),
      });
    }
    if (kind === 'purge') cluster.retention = { keepMs: 1_000, everyMs: 1_000 };
    const { requests: lostRequests, answers: lostAnswers, doubled } = net;
    Object.assign(cluster.request.faults, { lostRequests, lostAnswers, doubled });
    cluster.store.lostAnswers = storeLost;
  }

  async #startAll(): Promise<void> {
    const { minions, workers, returners } = this.#plan;
    await this.#cluster.prepare(named('m', minions));
    this.#cluster.supervise('event-bus', eventBus);
    for (const name of named('returner', returners)) this.#cluster.supervise(name, returner);
    for (const name of named('worker', workers)) this.#cluster.supervise(name, worker);
    this.#cluster.supervise('runner', runner);
    this.#cluster.supervise('publisher', publisher);
    this.#cluster.supervise('gateway', gateway);
    this.#startMinions(named('m', minions));
  }

  /** Once publications go out: a minion without a publisher is deaf for seconds, in no calm run. */
  #startMinions(ids: readonly string[]): void {
    const { time } = this.#cluster;
    if (this.#cluster.running('publisher') === undefined) {
      time.after(PUBLISHER_LOOK_MS, () => this.#startMinions(ids));
    } else for (const [index, id] of ids.entries()) this.#startMinion(index, id);
  }

  #startClient(atMs: number, plan: ClientPlan): void {
    this.#open += 1;
    this.#cluster.time.after(atMs, () => {
      const { request, events, trace } = this.#cluster;
      const run = runClient(plan, { request, events, trace, key: USER_KEY });
      const ended = run.then((end) => {
        this.#open -= 1;
        this.#witness.ended(end);
      });
      this.#guard(ended);
    });
  }

  #startMinion(index: number, id: string): void {
    const { time, random, trace, publish, request } = this.#cluster;
    const witness = this.#witness;
    this.#incarnations += 1;
    const incarnation = String(this.#incarnations);
    const minion = new SimMinion(id, {
      time,
      random: random.fork(),
      trace,
      publish,
      request,
      key: MINION_KEY,
      on: {
        ran: (who, jid) => this.#check(() => witness.ran(incarnation, who, jid)),
        acknowledged: (who, jid, content) => witness.acknowledged(who, jid, content),
        learnt: ({ aes }) => witness.learnt(aes.keyString),
      },
    });
    this.#minions[index] = minion;
    this.#guard(minion.start());
  }

  #killMinion(index: number): void {
    const minion = this.#minions[index];
    if (minion === undefined) return;
    minion.kill();
    this.#cluster.time.after(MINION_RESTART_MS, () => this.#startMinion(index, minion.id));
  }

  #calm(): void {
    Object.assign(this.#cluster.request.faults, { lostRequests: 0, lostAnswers: 0, doubled: 0 });
    this.#cluster.store.lostAnswers = 0;
  }

  #check(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#failure ??= error;
    }
  }

  #guard(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#failure ??= error;
    });
  }
}
