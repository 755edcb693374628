import { existsSync } from 'node:fs';
import { removeIfThere, writeAtomic } from '@brine/files';
import type { KeySyncAlarm } from './journal.ts';
import { vanishLimit } from './reconcile.ts';

/** How often a stopped sync looks for the operator's confirmation, in milliseconds. */
const CONFIRM_LOOK_MS = 500;
const SAMPLE = 20;

/** Ids that now count as deleted; `resume` after an alarm has ended. */
export interface VanishVerdict {
  readonly deleted: readonly string[];
  readonly resume: boolean;
}

/**
 * Decides when a vanished key file is a deletion. It must be gone for a while, because a move is a
 * deletion and a creation. If very many are gone at once, a volume may not be mounted: then an
 * operator must confirm.
 */
export class VanishGuard {
  readonly #path: string;
  readonly #waitMs: number;
  readonly #look: () => void;
  readonly #since = new Map<string, number>();
  readonly #deleted = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #alarm: KeySyncAlarm | undefined;
  #closed = false;

  constructor(journalPath: string, waitMs: number, look: () => void) {
    this.#path = journalPath;
    this.#waitMs = waitMs;
    this.#look = look;
  }

  /** Set while the sync is stopped. */
  get alarm(): KeySyncAlarm | undefined {
    return this.#alarm;
  }

  /** Files that are gone and do not count as deleted yet. */
  get suspects(): number {
    return this.#since.size;
  }

  /** True when the file of this id counts as deleted. */
  isDeleted(id: string): boolean {
    return this.#deleted.has(id);
  }

  /** Notes that a file was not found; rechecks when the time is up. */
  suspect(id: string): void {
    if (!this.#since.has(id)) this.#since.set(id, performance.now());
    if (this.#timer === undefined) this.#arm(this.#waitMs);
  }

  /** The id is settled, in whatever way. */
  forget(id: string): void {
    this.#since.delete(id);
    this.#deleted.delete(id);
  }

  /**
   * Judges from a fresh look at the directories: `missing` ids out of `known`. Ids
   * that count as deleted already are left out: deleting many takes longer than until the next
   * look, which would raise the alarm again over what was confirmed.
   */
  async judge(missing: readonly string[], known: number): Promise<VanishVerdict> {
    const confirmed = this.#alarm !== undefined && existsSync(`${this.#path}.confirm`);
    const limit = vanishLimit(known);
    const open = missing.filter((id) => !this.#deleted.has(id));
    if (open.length > limit && !confirmed) {
      await this.#raise(open, limit);
      return { deleted: [], resume: false };
    }
    const resume = this.#alarm !== undefined;
    const now = performance.now();
    const deleted = [...this.#since]
      .filter(([, since]) => now - since >= this.#waitMs)
      .map(([id]) => id);
    if (confirmed) deleted.push(...open);
    // Before the first await, because looks may overlap.
    for (const id of deleted) this.#deleted.add(id);
    if (this.#since.size > deleted.length) this.#arm(this.#waitMs / 4);
    await this.#lower();
    return { deleted, resume };
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #raise(missing: readonly string[], limit: number): Promise<void> {
    this.#arm(CONFIRM_LOOK_MS);
    if (this.#alarm?.vanished === missing.length) return;
    this.#alarm = {
      since: this.#alarm?.since ?? Date.now(),
      vanished: missing.length,
      limit,
      ids: missing.slice(0, SAMPLE),
    };
    await writeAtomic(`${this.#path}.alarm`, `${JSON.stringify(this.#alarm)}\n`, { mode: 0o600 });
  }

  async #lower(): Promise<void> {
    if (this.#alarm === undefined && !existsSync(`${this.#path}.alarm`)) return;
    this.#alarm = undefined;
    await removeIfThere(`${this.#path}.alarm`);
    await removeIfThere(`${this.#path}.confirm`);
  }

  #arm(delayMs: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, delayMs + 5);
    this.#timer.unref();
  }
}
