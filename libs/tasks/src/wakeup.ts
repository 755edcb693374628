import { TIMER_MAX_MS } from './sleep.ts';

/**
 * Lets a loop sleep until there is news. A wake before the wait is not lost: the next wait ends at
 * once. A wait may also end without news, so the loop checks its condition again.
 */
export class Wakeup {
  #isPending = false;
  #end: (() => void) | undefined;

  /** Ends the wait under way, or else the next one. */
  wake(): void {
    const end = this.#end;
    if (end === undefined) this.#isPending = true;
    else {
      this.#end = undefined;
      end();
    }
  }

  /**
   * Resolves at a wake, or after so many ms.
   * @throws Error while another wait is under way: a wake could reach the wrong one
   */
  wait(ms = Infinity): Promise<void> {
    if (this.#isPending) {
      this.#isPending = false;
      return Promise.resolve();
    }
    if (this.#end !== undefined) throw new Error('two loops wait for the same wake');
    return new Promise((resolve) => {
      if (ms === Infinity) {
        this.#end = resolve;
        return;
      }
      const timer = setTimeout(() => this.wake(), Math.min(ms, TIMER_MAX_MS));
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
