/** Thrown if text from outside would take more work than its sender may cause. */
export class WorkError extends Error {
  override readonly name = 'WorkError';
  readonly code = 'SALT_TARGET_WORK';
}

/** Steps for one expression on one text, beside those for its length; about 5 ns each. */
const TEXT_STEPS = 500_000;

/** Steps for one expression of a template, and for each character of the text. */
const TEMPLATE_STEPS = 300_000;
const TEMPLATE_STEPS_PER_UNIT = 1;

/** Steps for a target, and for each of its minions. */
const TARGET_STEPS = 1_200_000;
const STEPS_PER_MINION = 250;

/** Steps for the data of one minion, which may be long on purpose. */
const DATA_STEPS = 20_000;

/** Steps for the targets by which one minion shares its mine: a question reads many mines. */
const MINE_STEPS = 100_000;

/** Minions, and their share of all, that may take more before the target is at fault. */
const LONG_MINIONS_MAX = 200;
const LONG_MINIONS_SHARE = 0.05;

/** A bound on work, counted in steps: the same on every machine and under every load. */
export class Work {
  readonly #longMax: number;
  #left: number;
  /** Steps that must be left for the other minions. */
  #floor = 0;
  #isLong = false;
  #longMinions = 0;

  private constructor(steps: number, longMax: number) {
    this.#left = steps;
    this.#longMax = longMax;
  }

  /** For one expression on one text. */
  static ofText(length: number): Work {
    return new Work(TEXT_STEPS + (length >> 2), 0);
  }

  /** For one expression of a template on one text. */
  static ofTemplate(length: number): Work {
    return new Work(TEMPLATE_STEPS + TEMPLATE_STEPS_PER_UNIT * length, 0);
  }

  /** For one target and so many minions. */
  static ofTarget(minions: number): Work {
    const share = Math.max(1, Math.ceil(minions * LONG_MINIONS_SHARE));
    const steps = TARGET_STEPS + STEPS_PER_MINION * minions;
    return new Work(steps, minions > 1 ? Math.min(LONG_MINIONS_MAX, share) : 0);
  }

  /** For all targets by which one minion shares its mine. */
  static ofMine(): Work {
    return new Work(MINE_STEPS, 0);
  }

  /** Steps that may be taken now. */
  get left(): number {
    return this.#left - this.#floor;
  }

  /** @throws WorkError if fewer steps are left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < this.#floor) throw new WorkError('the expression takes too much work');
  }

  /** Tests the data of a minion. @throws WorkError. */
  onData(test: (data: unknown, work: Work) => boolean, data: unknown): boolean {
    this.#floor = Math.max(0, this.#left - DATA_STEPS);
    try {
      return test(data, this);
    } catch (error) {
      this.#isLong = this.#floor > 0;
      throw error;
    } finally {
      this.#floor = 0;
    }
  }

  /**
   * Tests one minion. False if its data are too long: one minion must not spoil a target for the
   * others.
   * @throws WorkError if many are too long, or no steps are left
   */
  forMinion(ask: (id: string) => boolean, id: string): boolean {
    const before = this.#left;
    try {
      return ask(id);
    } catch (error) {
      if (!this.#isLong || !(error instanceof WorkError)) throw error;
      this.#isLong = false;
      this.#longMinions += 1;
      if (this.#longMinions > this.#longMax) throw error;
      this.#left = before - STEPS_PER_MINION;
      return false;
    }
  }
}
