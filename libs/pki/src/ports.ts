import type { Trouble } from '@brine/tasks';
import type { KeySyncAlarm } from './journal.ts';
import type { KeyRecord, StoredKey } from './reconcile.ts';

/** The shared record of key states, as the sync needs it. */
export interface KeyRecords {
  /** False while records are being read: an absent record then means nothing. */
  ready(): boolean;
  ids(): Iterable<string>;
  get(id: string): StoredKey | undefined;
  /** Writes if the stored revision is still `expected` (undefined: nothing stored); the new
   * revision, or undefined when another writer was first. */
  put(id: string, record: KeyRecord, expected: number | undefined): Promise<number | undefined>;
}

/** Options of {@link KeySync}. Times in milliseconds. */
export interface KeySyncOptions {
  /** Default 10,000. */
  readonly rescanMs?: number;
  /** How long a file must be gone before that counts; default 1,000. */
  readonly vanishMs?: number;
  /** Called with each error, once per kind until that kind of work succeeds again. */
  readonly onTrouble?: Trouble;
}

/** Counts since the start. */
export interface KeySyncStatus {
  readonly keys: number;
  readonly toFiles: number;
  readonly toRecords: number;
  readonly conflicts: number;
  readonly failures: number;
  readonly away: boolean;
  readonly alarm?: KeySyncAlarm;
}
