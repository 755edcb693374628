/**
 * What is kept of a reaction while it is at work: the job ids of its calls and which of them have
 * ended. The key of a call is the id of the reaction and the number of the call.
 */
export interface CallPlan {
  /** How often work on it began. */
  readonly begun: number;
  /** In the order of the calls. */
  readonly calls: readonly { readonly jid: string; readonly done: boolean }[];
  /** All is over: a second delivery of the same reaction does nothing. */
  readonly ended: boolean;
}

const NOTHING: CallPlan = { begun: 0, calls: [], ended: false };

/** Keeps plans for all processes. Each method rejects where the bucket is away. */
export interface PlanStore {
  load(id: string): Promise<{ readonly plan: CallPlan; readonly revision: number } | undefined>;
  /**
   * Stores a plan over that of `revision` (0: over none). Undefined where another process has
   * stored one since: the reaction is in its hands.
   */
  save(id: string, plan: CallPlan, revision: number): Promise<number | undefined>;
}

/** The reaction is in the hands of another process, which took this one for dead. */
export class ElsewhereError extends Error {
  override readonly name = 'ElsewhereError';
}

/**
 * The calls of one reaction, each done once. A process that takes over from a dead one does not
 * repeat calls that had ended, and repeats the others under the job ids that they had.
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
   * A reaction that is delivered for the first time. Nothing is read for it: where something is
   * known of it all the same, as its event was put into the queue twice, {@link begin} throws.
   */
  static first(store: PlanStore, id: string): PlannedCalls {
    return new PlannedCalls(store, id, NOTHING, 0);
  }

  /** What is known of a reaction. Rejects where the bucket is away. */
  static async of(store: PlanStore, id: string): Promise<PlannedCalls> {
    const found = await store.load(id);
    return new PlannedCalls(store, id, found?.plan ?? NOTHING, found?.revision ?? 0);
  }

  /** All of it was done before. */
  get ended(): boolean {
    return this.#plan.ended;
  }

  /** How often work on it began, in any process. */
  get begun(): number {
    return this.#plan.begun;
  }

  /**
   * Gives each of `count` calls its job id before the first is made: those of the process before
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

  /** Whether a call has ended. */
  isDone(at: number): boolean {
    return this.#plan.calls[at]?.done === true;
  }

  /** Whether a process before this one may have made calls. */
  get mayBeRepeated(): boolean {
    return this.#plan.begun > 1;
  }

  /**
   * A call has ended. It is kept at once where others are still under way: the end of all says the
   * same of the last one. @throws ElsewhereError
   */
  async did(at: number): Promise<void> {
    const calls = this.#plan.calls.map((call, i) => (i === at ? { ...call, done: true } : call));
    this.#plan = { ...this.#plan, calls };
    if (calls.some(({ done }) => !done)) await this.#save(this.#plan);
  }

  /** All calls have ended. @throws ElsewhereError */
  async end(): Promise<void> {
    await this.#save({ ...this.#plan, ended: true });
  }

  /** One after the other, each over the revision of the one before. */
  #save(plan: CallPlan): Promise<void> {
    this.#plan = plan;
    const saving = this.#saving.then(async () => {
      const revision = await this.#store.save(this.#id, this.#plan, this.#revision);
      if (revision === undefined) throw new ElsewhereError(`${this.#id} is another worker's`);
      this.#revision = revision;
    });
    // A failed save is told to its caller, and must not stop the ones after it.
    this.#saving = saving.catch(() => undefined);
    return saving;
  }
}
