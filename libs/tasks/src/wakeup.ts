import { TIMER_MAX_MS } from './sleep.ts';

/**
 * Lets a loop sleep until there is news. A wake before the wait is not lost: the next wait ends at
 * once. A wait may also end without news, so the loop checks its condition again.
 */
export class Wakeup {
  #isPending = false;
  #waits: (() => void)[] = [];

  /** Ends the waits under way, or else the next one. */
  wake(): void {
    const waits = this.#waits;
    if (waits.length === 0) {
      this.#isPending = true;
      return;
    }
    this.#waits = [];
    for (const end of waits) end();
  }

  /** Resolves at a wake, or after so many ms. */
  wait(ms = Infinity): Promise<void> {
    if (this.#isPending) {
      this.#isPending = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      if (ms === Infinity) {
        this.#waits.push(resolve);
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const onTime = (): void => {
        this.#waits = this.#waits.filter((wait) => wait !== end);
        resolve();
      };
      const timer = setTimeout(onTime, Math.min(ms, TIMER_MAX_MS));
      this.#waits.push(end);
    });
  }
}
