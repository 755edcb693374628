import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { Ledger } from '../load/ledger.ts';
import { LoadLoop, type LoopOptions, type Work } from '../load/load-loop.ts';
import type { Answers, ChildPlan, LoadOrder, Order } from '../messages.ts';
import { EffortMeter } from '../results/effort.ts';
import { minionId, type ProcessStats } from '../types.ts';
import { behaviourOf } from './behaviours.ts';
import { readKeyPool } from './key-pool.ts';
import { LogIns } from './log-in.ts';
import { MasterKnowledge } from './master-knowledge.ts';
import { Publications } from './publications.ts';
import { Deadlines } from './request-line.ts';
import { SealedRequests } from './sealed-request.ts';
import { SimMinion } from './sim-minion.ts';
import { noCounts, type Surroundings } from './surroundings.ts';
import { connectWork, eventWork, Lanes, logInWork, publishWork, returnWork } from './works.ts';

const FOLLOW_POLL_MS = 10;

/** All minions of one process, and the commands for them. */
export class Herd {
  readonly #plan: ChildPlan;
  readonly #around: Surroundings;
  readonly #minions: readonly SimMinion[];
  readonly #meter = new EffortMeter();

  private constructor(plan: ChildPlan, around: Surroundings, minions: readonly SimMinion[]) {
    this.#plan = plan;
    this.#around = around;
    this.#minions = minions;
  }

  /** Makes the minions without connecting them. */
  static async make(plan: ChildPlan): Promise<Herd> {
    const pool = await readKeyPool(plan.keyPool);
    const counts = noCounts();
    const knowledge = new MasterKnowledge(plan.publishPort);
    const publications = new Publications(knowledge, plan.count, counts);
    const idOf = (index: number): string => minionId(plan.idPrefix, plan.first + index);
    const ledger =
      plan.log === undefined
        ? undefined
        : new Ledger(plan.log, () => {
            for (const run of publications.runs) ledger?.received(run, idOf, run.reachedLast);
          });
    const around: Surroundings = {
      ...plan,
      deadlines: new Deadlines(),
      knowledge,
      logIns: new LogIns(plan, knowledge, counts),
      requests: new SealedRequests(plan.version),
      publications,
      counts,
      ledger,
    };
    const minions = Array.from({ length: plan.count }, (_, index) => {
      const id = idOf(index);
      const place = plan.first + index;
      const pair = pool[place % pool.length];
      if (pair === undefined) throw new Error('the pool of keys is empty');
      const among = place - plan.swarmFirst;
      const behaviour = behaviourOf(plan.behaviours, id, among, plan.swarmCount);
      return new SimMinion(index, id, pair, behaviour, around);
    });
    return new Herd(plan, around, minions);
  }

  /** Runs a storm to its end. */
  async load(order: LoadOrder, loop: LoopOptions): Promise<Answers['load']> {
    if (order.of === 'return' || order.of === 'event') await this.#needKeys();
    const work = this.#work(order);
    this.#meter.begin();
    try {
      const report = await new LoadLoop(work, loop).run();
      return { report, effort: this.#meter.end() };
    } finally {
      if (work instanceof Lanes) work.close();
    }
  }

  /** Begins to measure the resources of this process. */
  watch(): void {
    this.#meter.begin();
  }

  /** Waits until a job is done here, or the time is up. */
  async follow(order: Order & { kind: 'follow' }): Promise<Answers['follow']> {
    const { jid, expected, sinceMs, untilMs } = order;
    for (;;) {
      const run = this.#around.publications.run(jid);
      const over = run !== undefined && run.open === 0 && run.reached >= expected;
      if (over || expected === 0 || monotonicMs() >= untilMs) {
        return { report: run?.report(sinceMs), effort: this.#meter.end() };
      }
      await wait(FOLLOW_POLL_MS);
    }
  }

  stats(): ProcessStats {
    const { user, system } = process.cpuUsage();
    const { lagP99Ms, lagMaxMs, cpuShare } = this.#meter.end();
    return {
      ...this.#around.counts,
      pid: process.pid,
      minions: this.#minions.length,
      cpuMs: (user + system) / 1000,
      rssBytes: process.memoryUsage.rss(),
      lagP99Ms,
      lagMaxMs,
      cpuShare,
    };
  }

  close(): void {
    for (const minion of this.#minions) minion.close();
    this.#around.deadlines.close();
    this.#around.ledger?.close();
    this.#meter.close();
  }

  #work(order: LoadOrder): Work {
    const minions = this.#minions;
    const around = this.#around;
    switch (order.of) {
      case 'log-in':
        return logInWork(minions, around);
      case 'connect':
        return connectWork(minions, around);
      case 'return':
        return returnWork(minions, around, { ...order, ...this.#plan });
      case 'event':
        return eventWork(minions, around, order);
      case 'publish':
        return publishWork(order.body, around);
    }
  }

  /** Logs in minions before sealed requests, outside of the measurement. */
  async #needKeys(): Promise<void> {
    for (const minion of this.#minions) {
      if (minion.key !== undefined) continue;
      const { kind } = await minion.logIn();
      if (kind !== 'accepted') throw new Error(`the log-in of ${minion.id} ended: ${kind}`);
    }
  }
}
