import { SaltProcess } from '@brine/testing';

/** Longer than the stop deadline of Brine's services, which is 10 s. */
export const GRACE_MS = 15_000;
export const COMMAND_TIMEOUT_MS = 180_000;
/** As shells exit after an interrupted program. */
const EXIT_SIGNAL = 130;

/** Ends all masters when the benchmark is interrupted, then the benchmark itself. */
export function endWithSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      const ends = [...SaltProcess.running].map((one) => one.stop());
      void Promise.allSettled(ends).then(() => process.exit(EXIT_SIGNAL));
    });
  }
}
