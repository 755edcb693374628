import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { applyToFiles } from './apply-to-files.ts';
import { PkiError } from './errors.ts';
import type { KeyJournal } from './journal.ts';
import type { KeyShelf } from './key-dirs.ts';
import { STATE_PRECEDENCE } from './key-dirs.ts';
import type { KeyFiles, KeyStore } from './key-store.ts';
import type { KeyRecords, KeySyncOptions, KeySyncStatus } from './ports.ts';
import type { StoredKey } from './reconcile.ts';
import { agreedOn, reconcileKey, recordFor } from './reconcile.ts';
import { VanishGuard } from './vanish-guard.ts';
import { ShelfWatch } from './watch-shelves.ts';

/** Ids handled at the same time: bounds open files and writes in flight. */
const BATCH = 64;
/** Ids that each rescan reads again without any notice of a change. */
const REREAD_PER_RESCAN = 1000;
const SETTLE_LOOK_MS = 20;

/** Keeps the key files of one host and the shared record the same. */
export class KeySync {
  readonly #store: KeyStore;
  readonly #journal: KeyJournal;
  readonly #records: KeyRecords;
  readonly #options: Required<KeySyncOptions>;
  readonly #guard: VanishGuard;
  readonly #dirty = new Set<string>();
  readonly #counts = { toFiles: 0, toRecords: 0, conflicts: 0, failures: 0 };
  readonly #troubles = new Set<string>();
  #shelves = new Map<string, KeyShelf[]>();
  #reread: Iterator<string> = [].values();
  #watch: ShelfWatch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #draining: Promise<void> | undefined;
  #firstRound = true;
  #away = false;
  #closed = false;

  constructor(
    parties: {
      readonly store: KeyStore;
      readonly journal: KeyJournal;
      readonly records: KeyRecords;
    },
    options: KeySyncOptions = {},
  ) {
    this.#store = parties.store;
    this.#journal = parties.journal;
    this.#records = parties.records;
    this.#options = { rescanMs: 10_000, vanishMs: 1_000, onTrouble: () => {}, ...options };
    this.#guard = new VanishGuard(this.#journal.path, this.#options.vanishMs, () => {
      void this.#rescan();
    });
  }

  /**
   * Joins files and record of each id that changed since the journal was written, then follows
   * changes. The content of all other files is checked in the background.
   */
  async start(): Promise<void> {
    this.#watch = new ShelfWatch(this.#store.pkiDir, (_shelf, id) => this.changed(id));
    if (this.#look()) {
      this.#dirty.clear();
      for (const id of this.#allIds()) if (this.#isMoved(id)) this.#dirty.add(id);
      await this.#drain();
    }
    this.#everything();
    void this.#rescan().finally(() => {
      this.#firstRound = false;
    });
  }

  /** To be called when the shared record of an id has changed. */
  changed(id: string): void {
    this.#dirty.add(id);
    void this.#drain();
  }

  /** To be called when the shared record was read again from the start: looks at every id. */
  resync(): void {
    this.#everything();
    void this.#drain();
  }

  status(): KeySyncStatus {
    const alarm = this.#guard.alarm;
    const { present } = this.#journal;
    return { keys: present, ...this.#counts, away: this.#away, ...(alarm && { alarm }) };
  }

  /**
   * Looks at the files now, and waits until the record has their changes. A deleted file counts
   * after a second. False if that took longer, or if the sync is stopped by an alarm.
   */
  async settled(timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs;
    await this.#rescan();
    while (this.#guard.suspects > 0 || this.#dirty.size > 0 || this.#draining !== undefined) {
      if (performance.now() > until || this.#closed || this.#guard.alarm || this.#away)
        return false;
      await sleep(SETTLE_LOOK_MS);
    }
    return this.#mayAct();
  }

  /** Stops following. Finishes the ids in work and writes the journal. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#guard.close();
    this.#watch?.close();
    await this.#draining;
    await this.#journal.flushed();
  }

  #everything(): void {
    for (const id of this.#allIds()) this.#dirty.add(id);
  }

  *#allIds(): Generator<string> {
    yield* this.#records.ids();
    yield* this.#journal.ids();
    yield* this.#shelves.keys();
  }

  /** Whether the record has another revision, or the file another place, than in the journal. */
  #isMoved(id: string): boolean {
    const agreed = this.#journal.get(id);
    if (agreed === undefined || this.#records.get(id)?.revision !== agreed.revision) return true;
    const shelves = this.#shelves.get(id) ?? [];
    const wanted = [...(agreed.state ? [agreed.state] : []), ...(agreed.denied ? ['denied'] : [])];
    return shelves.join() !== wanted.join();
  }

  /** Looks at the names of all files; asks for those that differ from the last look. */
  async #rescan(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#rescan(), this.#options.rescanMs);
    this.#timer.unref();
    try {
      if (!this.#look()) return;
      await this.#judge();
      await this.#journal.flushed();
      this.#troubles.clear();
    } catch (error) {
      this.#trouble('key sync: rescan failed', error);
    }
    await this.#drain();
  }

  #look(): boolean {
    const before = this.#shelves;
    try {
      this.#shelves = this.#currentShelves();
    } catch (error) {
      this.#away = true;
      this.#trouble('key sync: pki_dir is not there; nothing is synchronised', error);
      return false;
    }
    if (this.#away) {
      this.#away = false;
      this.#watch?.restart();
      this.#everything();
    }
    this.#watch?.renew();
    for (const [id, shelves] of this.#shelves) {
      if (before.get(id)?.join() !== shelves.join()) this.#dirty.add(id);
    }
    for (const id of before.keys()) if (!this.#shelves.has(id)) this.#dirty.add(id);
    this.#markForRereading();
    return true;
  }

  #currentShelves(): Map<string, KeyShelf[]> {
    // A volume that is not mounted shows an empty directory; the master's own key is never absent.
    const { pkiDir } = this.#store;
    // In a cluster of Salt's masters the pair has the other name.
    if (!['master.pem', 'cluster.pem'].some((name) => existsSync(join(pkiDir, name)))) {
      throw new PkiError('SALT_PKI_STORE_AWAY', `${pkiDir}: no master.pem`);
    }
    const listing = this.#store.listSync();
    const shelves = new Map<string, KeyShelf[]>();
    for (const shelf of [...STATE_PRECEDENCE, 'denied'] as const) {
      for (const id of listing[shelf]) {
        const known = shelves.get(id);
        if (known) known.push(shelf);
        else shelves.set(id, [shelf]);
      }
    }
    return shelves;
  }

  /** Finds content that changed without a notice, over time. Modification times prove nothing. */
  #markForRereading(): void {
    for (let n = 0; n < REREAD_PER_RESCAN; n += 1) {
      const next = this.#reread.next();
      if (next.done) {
        this.#reread = this.#shelves.keys();
        return;
      }
      this.#dirty.add(next.value);
    }
  }

  async #judge(): Promise<void> {
    if (!this.#records.ready()) return;
    const missing: string[] = [];
    for (const id of this.#journal.ids()) {
      const there = this.#shelves.get(id)?.some((shelf) => shelf !== 'denied') ?? false;
      const agreed = this.#journal.get(id);
      const stored = this.#records.get(id)?.record.state;
      const inRecord = stored !== undefined && stored !== 'deleted';
      if (agreed?.state && !there && inRecord) missing.push(id);
    }
    const verdict = await this.#guard.judge(missing, this.#journal.present);
    if (verdict.resume) this.#everything();
    for (const id of verdict.deleted) this.#dirty.add(id);
    const alarm = this.#guard.alarm;
    if (!alarm) return;
    const text = `key sync stopped: ${alarm.vanished} key files vanished at once`;
    this.#trouble(`${text}; if that was meant: brine key sync --confirm`);
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#run().finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async #run(): Promise<void> {
    // Joins a burst of notices about one file.
    await nextTurn();
    while (this.#dirty.size > 0 && this.#mayAct()) {
      const batch: string[] = [];
      for (const id of this.#dirty) if (batch.push(id) === BATCH) break;
      for (const id of batch) this.#dirty.delete(id);
      await Promise.all(batch.map((id) => this.#reconcile(id)));
      await nextTurn();
    }
  }

  #mayAct(): boolean {
    return !this.#away && !this.#guard.alarm && !this.#closed && this.#records.ready();
  }

  async #reconcile(id: string): Promise<void> {
    try {
      const stored = this.#records.get(id);
      const shelves = this.#shelves.get(id);
      // In the first round the listing is fresh; afterwards a notice marks it as old.
      const files = shelves && this.#firstRound ? this.#store.readListed(id, shelves) : undefined;
      await this.#bring(id, files?.state ? files : await this.#store.read(id), stored);
    } catch (error) {
      this.#counts.failures += 1;
      this.#trouble('key sync: a key could not be synchronised', error);
      setTimeout(() => this.changed(id), this.#options.rescanMs).unref();
    }
  }

  async #bring(id: string, files: KeyFiles, stored: StoredKey | undefined): Promise<void> {
    const agreed = this.#journal.get(id);
    const decision = reconcileKey(agreed, files, stored);
    if (decision.vanished && !this.#guard.isDeleted(id)) {
      this.#guard.suspect(id);
      return;
    }
    // An id that counts as deleted stays so until the record has the deletion.
    if (!decision.vanished) this.#guard.forget(id);
    if (decision.conflict) this.#counts.conflicts += 1;
    if (decision.writeFiles) {
      await applyToFiles(this.#store, id, { files, target: decision.target });
      this.#counts.toFiles += 1;
    }
    let revision = stored?.revision ?? 0;
    if (decision.writeRecord) {
      const record = recordFor(decision.target, stored, Date.now());
      const written = await this.#records.put(id, record, stored?.revision);
      this.#guard.forget(id);
      if (written === undefined) {
        setTimeout(() => this.changed(id), 20).unref();
        return;
      }
      revision = written;
      this.#counts.toRecords += 1;
    }
    if (agreed || stored || files.state || files.denied) {
      this.#journal.set(id, agreedOn(decision.target, revision));
    }
  }

  #trouble(text: string, cause?: unknown): void {
    if (this.#troubles.has(text)) return;
    this.#troubles.add(text);
    this.#options.onTrouble(text, cause);
  }
}
