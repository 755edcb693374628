/** The use of the event loop is looked at again after so long, ms. */
const LOOK_MS = 100;
/** Above this share of its time the loop has work enough: requests come first. */
const BUSY_SHARE = 0.75;

/** Reads how much of the time since the look before the event loop worked, from 0 to 1. */
export type ReadShare = () => number;

/**
 * Whether the event loop of this process has room for work that can wait. Reactions wait on disk;
 * minions that wait for an answer send their requests again.
 */
export class EventLoopLoad {
  readonly #read: ReadShare;
  readonly #now: () => number;
  #lookedAt: number;
  #isBusy = false;

  constructor(read: ReadShare = shareOfLoop(), now: () => number = () => performance.now()) {
    this.#read = read;
    this.#now = now;
    this.#lookedAt = now();
  }

  get isBusy(): boolean {
    if (this.#now() - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = this.#now();
      this.#isBusy = this.#read() > BUSY_SHARE;
    }
    return this.#isBusy;
  }
}

function shareOfLoop(): ReadShare {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
