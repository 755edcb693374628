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

/** What {@link BankMirror} works with. */
export interface BankMirrorParts {
  readonly files: Pick<BankFiles, 'layout' | 'write' | 'writeData' | 'remove'>;
  readonly banks: StoredBanks;
  /** The banks that are written: those that a stock master would write by its options. */
  readonly wanted: readonly StoredBank[];
  /** Whether a minion has a key of any state; it is known once `knowsKeys` is true. */
  readonly hasKey: (id: string) => boolean;
  readonly knowsKeys: () => boolean;
  /** Where the places in the buckets are kept. */
  readonly journal: string;
  readonly follow: (name: BucketName, after?: BucketPlace) => Promise<Follower>;
  readonly onTrouble: Trouble;
}

/** As much of a BucketFollower as is needed. */
export type Follower = Pick<BucketFollower, 'take' | 'done' | 'place' | 'caughtUp' | 'close'>;

/** Records that are read and written at once; a mine may have 4 MiB, a pillar 64 MiB. */
const AT_ONCE = 4;
/** Changes of one look. */
const CHANGES_AT_ONCE = 64;
/**
 * It rests three times as long as it worked, up to a second: a first copy of 100,000 minions must
 * not hold up the sockets of this process.
 */
const REST_FACTOR = 3;
const REST_MAX_MS = 1_000;
/** The places are kept so often. After a kill some files are written again. */
const KEEP_EVERY_MS = 10_000;
/** A bucket or a disk that is away is tried again after so long. */
const RETRY_MS = 5_000;
/** How often it is looked whether the keys of minions are known. */
const LOOK_MS = 250;

/** Of the host: no room, no more open files, a disk that is gone or read-only. */
const OUTAGES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE', 'EMFILE', 'ENFILE'];
/** A file or a directory that is not ours. */
const DENIALS = ['EACCES', 'EPERM'];

/** How it went with a change; `passed` where there was nothing to write, or it is odd for good. */
type Outcome = 'written' | 'denied' | 'passed';

/** The banks of a journal that this class wrote. */
interface Journal {
  readonly layout: string;
  readonly places: Readonly<Partial<Record<StoredBank, BucketPlace>>>;
}

/**
 * Writes what is stored of minions to the files that stock tools of this host read. It follows the
 * buckets in the background, at its own pace, and writes what changed.
 */
export class BankMirror {
  readonly #parts: BankMirrorParts;
  readonly #followers = new Map<StoredBank, Follower>();
  readonly #atWork = new Set<StoredBank>();
  /** The file of a minion that grains and pillar share is written by one at a time. */
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

  /** Whether every change that there is was written. */
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
      // What failed comes again with the next one: until then the bank is behind.
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
    // One file that is not ours stops no other. A directory that is not ours may be given back.
    const isOutage = outcomes.has('denied') && !outcomes.has('written');
    if (isOutage) throw new Error('no file of these minions may be written');
  }

  async #write(bank: StoredBank, { key, timeMs }: BucketChange): Promise<Outcome> {
    const record = bankRecordOf(bank, key);
    // What is no id was never a minion's.
    if (record === undefined || !isMinionId(record.id)) return 'passed';
    const { id, env } = record;
    try {
      if (this.#parts.files.layout === '3008' || bank === 'mine') {
        await this.#writeBank(bank, id, env, timeMs);
      } else if (env === undefined) {
        // A stock master of 3006 keeps the last pillar of any environment; this is that of none.
        await this.#inTurn(id, () => this.#writeData(id, timeMs));
      } else {
        return 'passed';
      }
      return 'written';
    } catch (error) {
      this.#counts.failed += 1;
      // An outage is tried again with all of its changes; one odd record stops no other.
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
    // How the one before ended is its own matter.
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
    // It is woken at the end; then there is nothing more to do.
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

  /** Nothing for a journal of another layout, or one that can not be read: all is written again. */
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

/** Of the disk, or of NATS: it may pass. */
function isOutage(error: unknown): boolean {
  return isRetryable(error) || isSystemError(error, ...OUTAGES);
}

/** Follows the buckets of a bus. */
export function followOn(bus: Bus): BankMirrorParts['follow'] {
  return (name, after) => BucketFollower.open(bus, name, after);
}
