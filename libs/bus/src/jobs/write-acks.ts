import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';

/** The wait for those who derive something from a job. */
export interface WrittenWait {
  /** Goes with the job as its `written` option. */
  readonly subject: string;
  /** Resolves once all have answered or the time is up, with those that are missing. */
  readonly done: Promise<{ readonly missing: readonly string[] }>;
  /** Ends the wait; `done` resolves with those missing by then. */
  readonly cancel: () => void;
}

/**
 * Waits until all of `expected` (`store`, `host:<name>`) have told that they wrote what they derive
 * from a job, for `timeoutMs` at most. Begin before the job is appended: give `subject` along.
 * @throws BusError `BUS_BUSY`.
 */
export function waitWritten(bus: Bus, expected: readonly string[], timeoutMs: number): WrittenWait {
  const missing = new Set(expected);
  let finish: () => void = () => undefined;
  const done = new Promise<{ readonly missing: readonly string[] }>((resolve) => {
    finish = () => {
      slot.close();
      timer.clear();
      resolve({ missing: [...missing] });
    };
  });
  const slot = bus.inbox.open(
    '',
    (msg) => {
      missing.delete(Buffer.from(msg.data).toString('utf8'));
      if (missing.size === 0) finish();
    },
    (error) => {
      if (error instanceof BusError) finish();
    },
  );
  const timer = bus.wheel.set(timeoutMs, finish);
  if (missing.size === 0) finish();
  return { subject: slot.subject, done, cancel: finish };
}
