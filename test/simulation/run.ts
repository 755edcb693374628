import { Broken, Witness } from './checks.ts';
import { runClient } from './client.ts';
import { Cluster, MINION_KEY, USER_KEY } from './cluster.ts';
import { SimMinion } from './minion.ts';
import { drawPlan, named } from './plan.ts';
import type { Fault, Plan } from './plan.ts';
import { Random } from './random.ts';
import { eventBus, gateway, publisher, returner, worker } from './services.ts';
import { Trace } from './trace.ts';
import { realMs, VirtualTime } from './virtual-time.ts';

/** What a run came to. */
export interface Outcome {
  readonly seed: number;
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
const SETTLE_MS = 32_000;

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
  try {
    await new Simulation(cluster, drawPlan(random.fork())).run();
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    broken = error;
    trace.note('BROKEN', error.message);
  }
  cluster.close();
  // What the killed processes still had in hand comes to its end.
  await time.run(time.now + 5_000, () => false);
  const costMs = realMs() - startedMs;
  return { seed, digest: trace.digest(), broken, trace: trace.lines, costMs, turns: time.fired };
}

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
    this.#witness = new Witness(cluster);
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

  /** Nobody has anything in hand any more. */
  #isSettled(): boolean {
    const { streams } = this.#cluster.nats;
    const isRead = ['EVENTS', 'PUBLICATIONS'].every((name) => {
      const info = streams.consumer(name, 'store')?.info;
      return info?.['num_pending'] === 0 && info['num_ack_pending'] === 0;
    });
    const gateway = this.#cluster.running('gateway')?.status() as { inFlight: number } | undefined;
    return isRead && gateway?.inFlight === 0 && this.#minions.every((one) => one.isIdle);
  }

  /** What breaks a rule meanwhile ends the run there. */
  async #until(ms: number, isOver: () => boolean): Promise<void> {
    await this.#cluster.time.run(ms, () => this.#failure !== undefined || isOver());
    if (this.#failure instanceof Error) throw this.#failure;
    if (this.#failure !== undefined) throw new Error('a part of the simulation failed');
  }

  #begin(): void {
    const { time } = this.#cluster;
    const { minions, workers, returners, clients, faults, net, storeLost } = this.#plan;
    this.#guard(this.#startAll(minions, workers, returners));
    for (const { atMs, plan } of clients) {
      this.#open += 1;
      time.after(atMs, () => {
        const { request, events, trace } = this.#cluster;
        const run = runClient(plan, { request, events, trace, key: USER_KEY });
        this.#guard(
          run.then((end) => {
            this.#open -= 1;
            this.#witness.ends.push(end);
          }),
        );
      });
    }
    for (const fault of faults) time.after(fault.atMs, () => this.#strike(fault));
    const { requests: lostRequests, answers: lostAnswers, doubled } = net;
    Object.assign(this.#cluster.request.faults, { lostRequests, lostAnswers, doubled });
    this.#cluster.store.lostAnswers = storeLost;
  }

  async #startAll(minions: number, workers: number, returners: number): Promise<void> {
    await this.#cluster.prepare(named('m', minions));
    this.#cluster.supervise('event-bus', eventBus);
    for (const name of named('returner', returners)) this.#cluster.supervise(name, returner);
    for (const name of named('worker', workers)) this.#cluster.supervise(name, worker);
    this.#cluster.supervise('publisher', publisher);
    this.#cluster.supervise('gateway', gateway);
    for (const [index, id] of named('m', minions).entries()) this.#startMinion(index, id);
  }

  #startMinion(index: number, id: string): void {
    const { time, random, trace, publish, request } = this.#cluster;
    const witness = this.#witness;
    this.#incarnations += 1;
    const incarnation = String(this.#incarnations);
    const minion = new SimMinion(id, {
      ...{ time, random: random.fork(), trace, publish, request, key: MINION_KEY },
      on: {
        ran: (who, jid) => this.#check(() => witness.ran(incarnation, who, jid)),
        acknowledged: (who, jid, content) => {
          witness.acknowledged.set(`${jid} ${who}`, content);
        },
        learnt: ({ aes }) => {
          witness.keyStrings.add(aes.keyString);
        },
      },
    });
    this.#minions[index] = minion;
    this.#guard(minion.start());
  }

  #strike(fault: Fault): void {
    const { trace, time, nats, store } = this.#cluster;
    const where =
      'service' in fault ? fault.service : 'minion' in fault ? `m${fault.minion + 1}` : '';
    trace.note('FAULT', `${fault.kind} ${where}`);
    switch (fault.kind) {
      case 'kill':
        this.#cluster.kill(fault.service);
        return;
      case 'cut':
        this.#cluster.cut(fault.service, fault.ms);
        return;
      case 'stall':
        this.#cluster.stall(fault.service, fault.ms);
        return;
      case 'nats':
        nats.restart();
        return;
      case 'store away':
        store.away = true;
        time.after(fault.ms, () => {
          store.away = false;
        });
        return;
      case 'minion cut':
        this.#minions[fault.minion]?.cut();
        return;
      case 'minion kill': {
        const minion = this.#minions[fault.minion];
        if (minion === undefined) return;
        minion.kill();
        time.after(3_000, () => this.#startMinion(fault.minion, minion.id));
      }
    }
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
