/** Thrown if text from outside would take more work than its sender may cause. */
export class WorkError extends Error {
  override readonly name = 'WorkError';
  readonly code = 'SALT_TARGET_WORK';
}

/** Steps for one expression on one text, beside those for its length; about 5 ns each. */
const TEXT_STEPS = 500_000;

/** Steps for one expression of a template, and for each character: what is found may be long. */
const TEMPLATE_STEPS = 300_000;
const TEMPLATE_STEPS_PER_UNIT = 1;

/** Steps that a target may take however few minions there are, and for each one more. */
const TARGET_STEPS = 1_200_000;
const STEPS_PER_MINION = 250;

/** Steps for what one minion sent about itself: its grains may be long, and made to be. */
const DATA_STEPS = 20_000;

/** Steps for whom one minion lets have what it keeps in the mine: a question reads many mines. */
const MINE_STEPS = 100_000;

/** So many minions, and this share of them, may take more before it is the target's fault. */
const LONG_MINIONS_MAX = 200;
const LONG_MINIONS_SHARE = 0.05;

/** A bound on work, counted in steps: the same on every machine and however busy it is. */
export class Work {
  readonly #longMax: number;
  #left: number;
  /** What must be left over for the other minions. */
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

  /** For all targets by which one minion allows others to read its mine. */
  static ofMine(): Work {
    return new Work(MINE_STEPS, 0);
  }

  /** Steps that may be taken here. */
  get left(): number {
    return this.#left - this.#floor;
  }

  /** @throws WorkError where fewer steps are left. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < this.#floor) throw new WorkError('the expression takes too much work');
  }

  /** What is asked about the data of a minion. @throws WorkError. */
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
   * What is asked about one minion. False where its data are too long: one minion must not spoil
   * a target for the others.
   * @throws WorkError where many are, or nothing is left for any
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
