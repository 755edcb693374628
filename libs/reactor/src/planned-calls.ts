/**
 * The stored state of a reaction at work: the job ids of its calls, and which of them have ended.
 * The key of a call is the id of the reaction and the number of the call.
 */
export interface CallPlan {
  /** Number of times that work on it began. */
  readonly begun: number;
  /** In the order of the calls. */
  readonly calls: readonly { readonly jid: string; readonly done: boolean }[];
  /** Everything is done: a second delivery of the same reaction does nothing. */
  readonly ended: boolean;
}

const NOTHING: CallPlan = { begun: 0, calls: [], ended: false };

/** Stores plans for all processes. Each method rejects while the bucket is unreachable. */
export interface PlanStore {
  load(id: string): Promise<{ readonly plan: CallPlan; readonly revision: number } | undefined>;
  /**
   * Replaces the plan of `revision` (0: none yet). Undefined if another process has replaced it
   * since, and so owns the reaction.
   */
  save(id: string, plan: CallPlan, revision: number): Promise<number | undefined>;
}

/** Another process owns the reaction, because it took this process for dead. */
export class ElsewhereError extends Error {
  override readonly name = 'ElsewhereError';
}

/**
 * The calls of one reaction, each made once. A process that takes over repeats only calls that had
 * not ended, under their old job ids.
 */
export class PlannedCalls {
  readonly #store: PlanStore;
  readonly #id: string;
  #plan: CallPlan;
  #revision: number;
  #saving: Promise<void> = Promise.resolve();

  private constructor(store: PlanStore, id: string, plan: CallPlan, revision: number) {
    this.#store = store;
    this.#id = id;
    this.#plan = plan;
    this.#revision = revision;
  }

  /**
   * A reaction that is delivered for the first time, so no plan is read. If one exists, because its
   * event was queued twice, {@link begin} throws.
   */
  static first(store: PlanStore, id: string): PlannedCalls {
    return new PlannedCalls(store, id, NOTHING, 0);
  }

  /** Reads the plan of a reaction. Rejects while the bucket is unreachable. */
  static async of(store: PlanStore, id: string): Promise<PlannedCalls> {
    const found = await store.load(id);
    return new PlannedCalls(store, id, found?.plan ?? NOTHING, found?.revision ?? 0);
  }

  /** True if all of it was done before. */
  get ended(): boolean {
    return this.#plan.ended;
  }

  /** Number of times that work on it began, in any process. */
  get begun(): number {
    return this.#plan.begun;
  }

  /**
   * Assigns each of `count` calls a job id before the first is made; ids of a previous process
   * stay. @throws ElsewhereError
   */
  async begin(count: number, newJid: () => Promise<string>): Promise<void> {
    const calls = [...this.#plan.calls];
    while (calls.length < count) calls.push({ jid: await newJid(), done: false });
    await this.#save({ begun: this.#plan.begun + 1, calls, ended: false });
  }

  /** The job id of a call. @throws RangeError before {@link begin} */
  jidOf(at: number): string {
    const call = this.#plan.calls[at];
    if (call === undefined) throw new RangeError(`no call ${at} of ${this.#id}`);
    return call.jid;
  }

  /** True if a call has ended. */
  isDone(at: number): boolean {
    return this.#plan.calls[at]?.done === true;
  }

  /** True if a previous process may have made calls. */
  get mayBeRepeated(): boolean {
    return this.#plan.begun > 1;
  }

  /**
   * Records that a call has ended: at once while other calls are running, since {@link end} records
   * the last one. @throws ElsewhereError
   */
  async did(at: number): Promise<void> {
    const calls = this.#plan.calls.map((call, i) => (i === at ? { ...call, done: true } : call));
    this.#plan = { ...this.#plan, calls };
    if (calls.some(({ done }) => !done)) await this.#save(this.#plan);
  }

  /** Records that all calls have ended. @throws ElsewhereError */
  async end(): Promise<void> {
    await this.#save({ ...this.#plan, ended: true });
  }

  /** Saves one after the other, each over the previous revision. */
  #save(plan: CallPlan): Promise<void> {
    this.#plan = plan;
    const saving = this.#saving.then(async () => {
      const revision = await this.#store.save(this.#id, this.#plan, this.#revision);
      if (revision === undefined) throw new ElsewhereError(`${this.#id} is another worker's`);
      this.#revision = revision;
    });
    // The caller gets the error of a failed save; later saves still run.
    this.#saving = saving.catch(() => undefined);
    return saving;
  }
}
