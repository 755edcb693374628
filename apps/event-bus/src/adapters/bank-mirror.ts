import {
  type BucketChange,
  BucketFollower,
  type BucketName,
  type BucketPlace,
  type Bus,
} from '@brine/bus';
import type { BankFiles } from '@brine/cachedir';
import { isSystemError, readIfThere, writeAtomic } from '@brine/files';
import { isMinionId } from '@brine/job';
import { BANK_BUCKETS, bankRecordOf, type StoredBank, type StoredBanks } from '@brine/master-state';
import { isRetryable, sleepUnless, type Trouble } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';

/** The parts of {@link BankMirror}. */
export interface BankMirrorParts {
  readonly files: Pick<BankFiles, 'layout' | 'write' | 'writeData' | 'remove'>;
  readonly banks: StoredBanks;
  /** The banks to write: those that a stock master would write by its options. */
  readonly wanted: readonly StoredBank[];
  /** True if a minion has a key of any state; known once `knowsKeys` is true. */
  readonly hasKey: (id: string) => boolean;
  readonly knowsKeys: () => boolean;
  /** The file with the places in the buckets. */
  readonly journal: string;
  readonly follow: (name: BucketName, after?: BucketPlace) => Promise<Follower>;
  readonly onTrouble: Trouble;
}

/** The part of a BucketFollower that is needed. */
export type Follower = Pick<BucketFollower, 'take' | 'done' | 'place' | 'caughtUp' | 'close'>;

/** Records that are read and written at once; a mine may have 4 MiB, a pillar 64 MiB. */
const AT_ONCE = 4;
/** Changes of one look. */
const CHANGES_AT_ONCE = 64;
/**
 * Rests three times as long as it worked, up to a second: a first copy of 100,000 minions must not
 * delay the sockets of this process.
 */
const REST_FACTOR = 3;
const REST_MAX_MS = 1_000;
/** Interval of saving the places. After a kill some files are written again. */
const KEEP_EVERY_MS = 10_000;
/** Wait before a retry when a bucket or a disk is unreachable. */
const RETRY_MS = 5_000;
/** Interval of checking whether the keys of minions are known. */
const LOOK_MS = 250;

/** Faults of the host: no space, no more open files, a disk that is gone or read-only. */
const OUTAGES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE', 'EMFILE', 'ENFILE'];
/** A file or a directory without access. */
const DENIALS = ['EACCES', 'EPERM'];

/** The outcome of a change; `passed` if there was nothing to write, or the record is invalid. */
type Outcome = 'written' | 'denied' | 'passed';

/** The banks of a journal that this class wrote. */
interface Journal {
  readonly layout: string;
  readonly places: Readonly<Partial<Record<StoredBank, BucketPlace>>>;
}

/**
 * Writes the stored data of minions to the files that stock tools of this host read. It follows the
 * buckets in the background, at its own pace, and writes changes.
 */
export class BankMirror {
  readonly #parts: BankMirrorParts;
  readonly #followers = new Map<StoredBank, Follower>();
  readonly #atWork = new Set<StoredBank>();
  /** Writes in turn the file of a minion that grains and pillar share. */
  readonly #turns = new Map<string, Promise<void>>();
  readonly #counts = { written: 0, removed: 0, failed: 0 };
  readonly #end = new AbortController();
  #places: Partial<Record<StoredBank, BucketPlace>> = {};
  #kept = '';
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isLogged = false;

  constructor(parts: BankMirrorParts) {
    this.#parts = parts;
  }

  status(): object {
    const { files, wanted } = this.#parts;
    const behind = wanted.filter((bank) => !this.#isEven(bank));
    return { layout: files.layout, banks: wanted, behind, ...this.#counts };
  }

  /** True if every known change was written. */
  get isEven(): boolean {
    return this.#parts.wanted.every((bank) => this.#isEven(bank));
  }

  #isEven(bank: StoredBank): boolean {
    return this.#followers.get(bank)?.caughtUp === true && !this.#atWork.has(bank);
  }

  start(): void {
    this.#timer = setInterval(() => void this.#keep(), KEEP_EVERY_MS);
    this.#timer.unref();
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#end.abort();
    clearInterval(this.#timer);
    for (const follower of this.#followers.values()) follower.close();
    await this.#running;
    await this.#keep();
  }

  async #run(): Promise<void> {
    const places = await this.#readJournal();
    this.#places = { ...places };
    while (!this.#parts.knowsKeys() && !this.#end.signal.aborted) await this.#rest(LOOK_MS);
    await Promise.all(this.#parts.wanted.map((bank) => this.#mirror(bank)));
  }

  async #mirror(bank: StoredBank): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.#followToItsEnd(bank);
      } catch (error) {
        this.#logOnce('the files of minion data are not written', error);
      }
      await this.#rest(RETRY_MS);
    }
  }

  async #followToItsEnd(bank: StoredBank): Promise<void> {
    const follower = await this.#parts.follow(BANK_BUCKETS[bank], this.#places[bank]);
    this.#followers.set(bank, follower);
    try {
      while (!this.#end.signal.aborted) {
        const changes = await follower.take(CHANGES_AT_ONCE);
        if (changes.length === 0) return;
        const startedAt = performance.now();
        this.#atWork.add(bank);
        await this.#writeAll(bank, changes);
        this.#atWork.delete(bank);
        follower.done(changes);
        this.#places[bank] = follower.place;
        this.#isLogged = false;
        const tookMs = performance.now() - startedAt;
        await this.#rest(Math.min(REST_MAX_MS, tookMs * REST_FACTOR));
      }
    } finally {
      this.#atWork.delete(bank);
      // A failed change comes again with the next follower: until then the bank is behind.
      this.#followers.delete(bank);
      follower.close();
    }
  }

  async #writeAll(bank: StoredBank, changes: readonly BucketChange[]): Promise<void> {
    let next = 0;
    const outcomes = new Set<Outcome>();
    const lane = async (): Promise<void> => {
      for (let change = changes[next++]; change !== undefined; change = changes[next++]) {
        outcomes.add(await this.#write(bank, change));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    // A file without access stops no other. A directory without access may become accessible again.
    const isOutage = outcomes.has('denied') && !outcomes.has('written');
    if (isOutage) throw new Error('no file of these minions may be written');
  }

  async #write(bank: StoredBank, { key, timeMs }: BucketChange): Promise<Outcome> {
    const record = bankRecordOf(bank, key);
    // An invalid id was never a minion's.
    if (record === undefined || !isMinionId(record.id)) return 'passed';
    const { id, env } = record;
    try {
      if (this.#parts.files.layout === '3008' || bank === 'mine') {
        await this.#writeBank(bank, id, env, timeMs);
      } else if (env === undefined) {
        // A stock master of 3006 keeps the last pillar of any environment; this is the one of none.
        await this.#inTurn(id, () => this.#writeData(id, timeMs));
      } else {
        return 'passed';
      }
      return 'written';
    } catch (error) {
      this.#counts.failed += 1;
      // An outage is retried with all its changes; an invalid record stops no other.
      if (isOutage(error)) throw error;
      this.#logOnce(`the data of minion ${id} were not written`, error);
      return isSystemError(error, ...DENIALS) ? 'denied' : 'passed';
    }
  }

  async #writeBank(
    bank: StoredBank,
    id: string,
    env: string | undefined,
    timeMs: number,
  ): Promise<void> {
    const { banks, files, hasKey } = this.#parts;
    const data = await banks.fetch(bank, id, env);
    if (data === undefined && !hasKey(id)) return this.#remove(id);
    await files.write(bank, id, data, { env, timeMs });
    this.#counts.written += 1;
  }

  async #writeData(id: string, timeMs: number): Promise<void> {
    const { files, hasKey } = this.#parts;
    const grains = await this.#wantedOf('grains', id);
    const pillar = await this.#wantedOf('pillar', id);
    if (grains === undefined && !hasKey(id)) return this.#remove(id);
    await files.writeData(id, { grains, pillar }, timeMs);
    this.#counts.written += 1;
  }

  async #wantedOf(bank: StoredBank, id: string): Promise<SaltMap | undefined> {
    return this.#parts.wanted.includes(bank) ? this.#parts.banks.fetch(bank, id) : undefined;
  }

  async #inTurn(id: string, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    // The caller before handles its own error.
    const turn = before.catch(() => undefined).then(work);
    this.#turns.set(id, turn);
    try {
      await turn;
    } finally {
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
    }
  }

  async #remove(id: string): Promise<void> {
    await this.#parts.files.remove(id);
    this.#counts.removed += 1;
  }

  async #rest(ms: number): Promise<void> {
    // Woken at the end, when there is nothing more to do.
    await sleepUnless(ms, this.#end.signal, { ref: false });
  }

  #logOnce(text: string, error: unknown): void {
    if (!this.#isLogged) this.#parts.onTrouble(text, error);
    this.#isLogged = true;
  }

  async #keep(): Promise<void> {
    const journal: Journal = { layout: this.#parts.files.layout, places: this.#places };
    const text = JSON.stringify(journal);
    if (text === this.#kept) return;
    try {
      await writeAtomic(this.#parts.journal, text, { mode: 0o600, synced: false });
      this.#kept = text;
    } catch (error) {
      this.#logOnce('how far the files of minion data are was not kept', error);
    }
  }

  /** Empty for an unreadable journal, or one of another layout: everything is written again. */
  async #readJournal(): Promise<Journal['places']> {
    try {
      const bytes = await readIfThere(this.#parts.journal);
      const journal: unknown = bytes && JSON.parse(bytes.toString('utf8'));
      return isJournal(journal, this.#parts.files.layout) ? journal.places : {};
    } catch (error) {
      if (!(error instanceof SyntaxError)) this.#logOnce('the journal of minion data', error);
      return {};
    }
  }
}

function isJournal(value: unknown, layout: string): value is Journal {
  if (typeof value !== 'object' || value === null) return false;
  const { layout: written, places } = value as Record<string, unknown>;
  if (written !== layout || typeof places !== 'object' || places === null) return false;
  return Object.values(places).every((place: unknown) => {
    if (typeof place !== 'object' || place === null) return false;
    const { incarnation, revision } = place as Record<string, unknown>;
    return typeof incarnation === 'string' && Number.isSafeInteger(revision);
  });
}

/** A fault of the disk or of NATS, which may pass. */
function isOutage(error: unknown): boolean {
  return isRetryable(error) || isSystemError(error, ...OUTAGES);
}

/** Follows the buckets of a bus. */
export function followOn(bus: Bus): BankMirrorParts['follow'] {
  return (name, after) => BucketFollower.open(bus, name, after);
}
