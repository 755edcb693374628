import { WireError } from '@brine/wire';
import type { Batch } from './gathering.ts';

/**
 * Why a returner did not take events. `away`: it may take them later, unchanged. `refused`: it will
 * never take them. `unclear`: it gives no reason. `moved`: its own place has changed meanwhile.
 * `missing`: the returner does not exist, or its options are invalid.
 */
export type ReturnFailure = 'away' | 'refused' | 'unclear' | 'moved' | 'missing';

/** A returner did not take events. */
export class ReturnerError extends Error {
  override readonly name = 'ReturnerError';
  readonly failure: ReturnFailure;

  constructor(failure: ReturnFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}

/** Classifies an error. An unexpected error is `away`: it may be over later. */
export function failureOf(error: unknown): ReturnFailure {
  // Data that can not be read to its end: a minion's return is parsed only as far as needed.
  if (error instanceof WireError) return 'refused';
  return error instanceof ReturnerError ? error.failure : 'away';
}

/** The known place of a returner: a position and a JSON value of the returner's own. */
export interface SavedPlace {
  /** Undefined before the first start. */
  readonly position?: string;
  readonly note?: unknown;
}

/** The destination of events. One process at a time writes there, one batch after the other. */
export interface EventReturner {
  /** Its name in `event_return`. */
  readonly name: string;
  /**
   * True if it stores the place together with the events, so that a crash makes no duplicates.
   * Other returners get the place that was saved last, and may get the events after it again.
   */
  readonly keepsPlace: boolean;
  /**
   * Opens the returner; resolves with the position that it stores, if it stores one.
   * @param saved the state that was saved last
   * @throws ReturnerError
   */
  open(saved: SavedPlace): Promise<string | undefined>;
  /**
   * Writes all events of a batch in their order, and the place `to` if it stores one. A batch
   * without events only moves the place. Resolves with the note to save beside the place.
   * @throws ReturnerError
   */
  write(batch: Batch): Promise<unknown>;
  /**
   * Writes one event out of quarantine, at any place.
   * @throws ReturnerError
   */
  writeAgain(event: Batch['events'][number]): Promise<void>;
  close(): Promise<void>;
}
