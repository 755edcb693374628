import {
  confirmDurable,
  type DurableState,
  noteLogIns,
  openDurable,
  stepDurable,
} from '../src/durable/durable.ts';

export const START = 1_795_000_000_000;

/** A stock minion: knows the last 100 jids, answers find_job while it is there. */
export class DurableMinion {
  there = true;
  /** Runs the job and returns; some never do. */
  returns = true;
  /** How long a run takes, in ms. */
  runsMs = 0;
  runs = 0;
  returned = false;
  asked = 0;
  /** How long an answer to find_job takes, in ms. */
  answersAfterMs = 0;
  readonly #known: string[] = [];
  #runningUntil = 0;

  get(jid: string, now: number): void {
    if (!this.there || !this.#remember(jid)) return;
    this.runs += 1;
    this.#runningUntil = now + this.runsMs;
    if (this.returns && this.runsMs === 0) this.returned = true;
  }

  answer(probe: string, now: number): boolean | undefined {
    if (!this.there) return undefined;
    this.asked += 1;
    this.#remember(probe);
    return now < this.#runningUntil;
  }

  tick(now: number): void {
    if (this.runs > 0 && now >= this.#runningUntil && this.returns) this.returned = true;
  }

  /** Other jobs of the same master. */
  works(jobs: number): void {
    for (let n = 0; n < jobs; n += 1) this.#remember(`other-${n}-${this.#known.length}`);
  }

  restart(): void {
    this.#known.length = 0;
    this.#runningUntil = 0;
  }

  #remember(jid: string): boolean {
    if (this.#known.includes(jid)) return false;
    this.#known.push(jid);
    if (this.#known.length > 100) this.#known.shift();
    return true;
  }
}

/** Virtual time: one owner that follows the rule, and the minions. */
export class DurableWorld {
  now = START;
  state: DurableState;
  readonly minions = new Map<string, DurableMinion>();
  readonly sent = new Map<string, { count: number; lastAt: number }>();
  readonly sendings: (readonly string[])[] = [];
  questions = 0;
  /** The answers of minions, and when they came. */
  readonly #answers: { id: string; running: boolean; at: number }[] = [];

  constructor(ids: readonly string[], ttlMs: number) {
    for (const id of ids) this.minions.set(id, new DurableMinion());
    this.state = openDurable({ jid: 'j', publishedAt: START, notAfter: START + ttlMs });
  }

  of(id: string): DurableMinion {
    const minion = this.minions.get(id);
    if (minion === undefined) throw new Error(id);
    return minion;
  }

  publish(): void {
    for (const minion of this.minions.values()) minion.get('j', this.now);
  }

  logIn(...ids: string[]): void {
    this.state = noteLogIns(this.state, new Map(ids.map((id) => [id, this.now])));
  }

  /** Runs to a time; `crash` loses the confirmation of one action in so many. */
  runTo(at: number, crash = 0): void {
    let actions = 0;
    while (this.state.closed === undefined && this.state.dueAt <= at) {
      this.now = Math.max(this.now, this.state.dueAt);
      for (const minion of this.minions.values()) minion.tick(this.now);
      const probe = `probe-${this.now}`;
      const { state, action } = stepDurable(this.state, this.#facts(), this.now, probe);
      this.state = state;
      if (action === undefined) continue;
      if (action.kind === 'ask') this.#ask(action.minions);
      else this.#send(action.minions);
      actions += 1;
      if (crash > 0 && actions % crash === 0) continue;
      if (action.kind === 'send') {
        for (const id of action.minions) {
          const count = (this.sent.get(id)?.count ?? 0) + 1;
          this.sent.set(id, { count, lastAt: this.now });
        }
      }
      this.state = confirmDurable(this.state, this.now);
    }
    this.now = at;
  }

  #facts() {
    const waiting = [...this.minions].filter(([, minion]) => !minion.returned).map(([id]) => id);
    const answers = new Map<string, boolean>();
    const { startedAt, lastStartedAt } = this.state;
    for (const { id, running, at } of this.#answers) {
      if (at > this.now || at < lastStartedAt) continue;
      const counts = running ? at >= startedAt : at > (this.sent.get(id)?.lastAt ?? 0);
      if (counts) answers.set(id, running);
    }
    return { waiting, answers, sent: this.sent };
  }

  #ask(ids: readonly string[]): void {
    this.questions += 1;
    for (const id of ids) {
      const minion = this.of(id);
      const running = minion.answer(this.state.probe, this.now);
      const at = this.now + minion.answersAfterMs;
      if (running !== undefined) this.#answers.push({ id, running, at });
    }
  }

  #send(ids: readonly string[]): void {
    this.sendings.push(ids);
    for (const id of ids) this.of(id).get('j', this.now);
  }
}
