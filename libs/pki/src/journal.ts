import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { appendFile, open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { removeIfThere, textIfThere, writeAtomic } from '@brine/files';
import { mayHaveKey } from '@brine/job';
import { PkiError } from './errors.ts';
import type { KeyState } from './key-dirs.ts';
import type { AgreedKey } from './reconcile.ts';

const FORMAT = 1;

/** Rewritten when it has this many lines more than twice its entries. */
const SLACK_LINES = 1000;

/**
 * The path of the journal of a pki_dir. It lies beside the directory, so that it stays when a
 * volume mounted there goes. If the parent is not writable, it lies inside as a dot file.
 */
export function journalPath(pkiDir: string): string {
  const beside = join(dirname(pkiDir), `${basename(pkiDir)}.brine-keys`);
  const inside = join(pkiDir, '.brine-keys');
  if (existsSync(beside)) return beside;
  if (existsSync(inside)) return inside;
  try {
    accessSync(dirname(pkiDir), constants.W_OK);
    return beside;
  } catch {
    // Not writable for this user: use the second place.
    return inside;
  }
}

/**
 * The journal of one host: id -> what files and record last agreed on. One JSON line per change.
 */
export class KeyJournal {
  readonly path: string;
  /** False when there was no journal: then nothing that is absent counts as deleted. */
  readonly existed: boolean;
  readonly #entries: Map<string, AgreedKey>;
  #lines: number;
  #pending: string[] = [];
  #writing: Promise<void> = Promise.resolve();
  #scheduled = false;
  #present = 0;

  private constructor(path: string, loaded: Loaded | undefined) {
    this.path = path;
    this.existed = loaded !== undefined;
    this.#entries = loaded?.entries ?? new Map<string, AgreedKey>();
    this.#lines = loaded?.lines ?? 0;
    for (const entry of this.#entries.values()) if (entry.state) this.#present += 1;
  }

  /**
   * Reads the journal. Throws {@link PkiError} SALT_PKI_JOURNAL when the file is of a newer format.
   */
  static async open(path: string): Promise<KeyJournal> {
    const text = await textIfThere(path);
    const loaded = text === undefined ? undefined : parse(path, text);
    const journal = new KeyJournal(path, loaded);
    await journal.compact();
    return journal;
  }

  /** How many ids have a key, in whatever state. */
  get present(): number {
    return this.#present;
  }

  /** All ids, deleted ones included. */
  ids(): Iterable<string> {
    return this.#entries.keys();
  }

  get(id: string): AgreedKey | undefined {
    return this.#entries.get(id);
  }

  /** Notes an agreement; written in the background, in order. */
  set(id: string, entry: AgreedKey): void {
    const old = this.#entries.get(id);
    if (old && line(id, old) === line(id, entry)) return;
    this.#present += (entry.state ? 1 : 0) - (old?.state ? 1 : 0);
    this.#entries.set(id, entry);
    this.#pending.push(line(id, entry));
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#writing = this.#writing.then(async () => {
      this.#scheduled = false;
      try {
        await this.#flush();
      } catch {
        // The lines are kept: they go out with the next note, and flushed() reports the failure.
      }
    });
  }

  /** Resolves when everything noted so far is in the file; rejects when writing failed. */
  async flushed(): Promise<void> {
    await this.#writing;
    if (this.#pending.length > 0) await this.#flush();
  }

  /** Rewrites the file with one line per id. */
  async compact(): Promise<void> {
    const draft = `${this.path}.${process.pid}-${randomBytes(4).toString('hex')}`;
    const file = await open(draft, 'wx', 0o600);
    try {
      const header = JSON.stringify({ brineKeys: FORMAT });
      const lines = [header, ...[...this.#entries].map(([id, entry]) => line(id, entry))];
      await file.writeFile(`${lines.join('\n')}\n`);
      await file.sync();
    } catch (error) {
      await removeIfThere(draft);
      throw error;
    } finally {
      await file.close();
    }
    await rename(draft, this.path);
    this.#lines = this.#entries.size;
  }

  async #flush(): Promise<void> {
    const lines = this.#pending;
    if (lines.length === 0) return;
    this.#pending = [];
    this.#lines += lines.length;
    try {
      if (this.#lines > 2 * this.#entries.size + SLACK_LINES) await this.compact();
      else await appendFile(this.path, `${lines.join('\n')}\n`, { mode: 0o600 });
    } catch (error) {
      this.#pending = [...lines, ...this.#pending];
      throw error;
    }
  }
}

/** Why the sync is stopped, for `brine key sync`. */
export interface KeySyncAlarm {
  /** Unix time in milliseconds. */
  readonly since: number;
  readonly vanished: number;
  readonly limit: number;
  /** Some of the ids. */
  readonly ids: readonly string[];
}

/** The alarm of the sync of a pki_dir, or undefined when it runs. */
export async function readKeySyncAlarm(pkiDir: string): Promise<KeySyncAlarm | undefined> {
  const text = await textIfThere(`${journalPath(pkiDir)}.alarm`);
  return text === undefined ? undefined : (JSON.parse(text) as KeySyncAlarm);
}

/** Confirms that the vanished files are deleted; false when there is no alarm. */
export async function confirmKeySync(pkiDir: string): Promise<boolean> {
  if ((await readKeySyncAlarm(pkiDir)) === undefined) return false;
  await writeAtomic(`${journalPath(pkiDir)}.confirm`, `${new Date().toISOString()}\n`, {
    mode: 0o600,
  });
  return true;
}

interface Loaded {
  readonly entries: Map<string, AgreedKey>;
  readonly lines: number;
}

function parse(path: string, text: string): Loaded | undefined {
  const [first = '', ...lines] = text.split('\n');
  const header = parseLine(first) as { brineKeys?: unknown } | undefined;
  if (typeof header?.brineKeys !== 'number') return undefined;
  if (header.brineKeys > FORMAT) {
    throw new PkiError('SALT_PKI_JOURNAL', `${path}: written by a newer Brine`);
  }
  const entries = new Map<string, AgreedKey>();
  for (const text of lines) {
    const fields = parseLine(text);
    if (!Array.isArray(fields)) continue;
    const [id, state, hash, denied, revision] = fields as unknown[];
    // An older version allowed other ids, which have no files here.
    if (!mayHaveKey(id)) continue;
    entries.set(id, {
      ...(isState(state) && typeof hash === 'string' && { state, hash }),
      ...(typeof denied === 'string' && { denied }),
      revision: typeof revision === 'number' ? revision : 0,
    });
  }
  return { entries, lines: lines.length };
}

/** A crash may tear the last line, which then does not count. */
function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isState(value: unknown): value is KeyState {
  return value === 'accepted' || value === 'pending' || value === 'rejected';
}

function line(id: string, entry: AgreedKey): string {
  const { state = null, hash = null, denied = null, revision } = entry;
  return JSON.stringify([id, state, hash, denied, revision]);
}
