import { WireError } from '@brine/wire';
import type { Batch } from './gathering.ts';

/**
 * Why a returner did not take events. `away`: it may take them later, unchanged. `refused`: not
 * these, at any time. `unclear`: it does not say which of the two. `moved`: the place that it keeps
 * is another one by now. `missing`: there is no such returner, or its options are no use.
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

/** What went wrong, of anything that was thrown; what nobody foresaw may be over later. */
export function failureOf(error: unknown): ReturnFailure {
  // Data that can not be read to its end: a minion's return is looked at no further than needed.
  if (error instanceof WireError) return 'refused';
  return error instanceof ReturnerError ? error.failure : 'away';
}

/** What is known of a returner's place: a JSON value of the returner's own beside the position. */
export interface SavedPlace {
  /** Undefined before the first start. */
  readonly position?: string;
  readonly note?: unknown;
}

/** Where events are returned to. One process at a time writes there, one batch after the other. */
export interface EventReturner {
  /** Under which `event_return` has it. */
  readonly name: string;
  /**
   * Whether it keeps the place together with what it writes, so that nothing is there twice after a
   * crash. The others are told the place that was saved last, and may be given the events after it
   * once more.
   */
  readonly keepsPlace: boolean;
  /**
   * Gets ready; resolves with the position that it keeps, where it keeps one.
   * @param saved what was saved of it last
   * @throws ReturnerError
   */
  open(saved: SavedPlace): Promise<string | undefined>;
  /**
   * Writes all events of a batch, in their order, and with them the place `to` where it keeps
   * one. A batch without events only moves the place. Resolves with what is to be saved beside the
   * place.
   * @throws ReturnerError
   */
  write(batch: Batch): Promise<unknown>;
  /**
   * Writes one event out of quarantine, wherever the place is.
   * @throws ReturnerError
   */
  writeAgain(event: Batch['events'][number]): Promise<void>;
  close(): Promise<void>;
}
