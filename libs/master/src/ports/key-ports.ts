import type { Crypticle, EncAlgo, PublicKey, SigAlgo } from '@brine/crypt';
import type { KeyState } from '@brine/job';
import type { SaltMap } from '@brine/wire';

/** What the master knows of one minion's key. */
export interface MinionKey {
  readonly state: KeyState;
  /** Public key, PEM text. */
  readonly pub: string;
  /** Other keys that were offered under this id and refused, PEM texts, oldest first. */
  readonly denied: readonly string[];
}

/** A key together with the revision it was read at, for compare-and-set. */
export interface StoredMinionKey extends MinionKey {
  readonly revision: number;
  /** When the record was written, unix ms; absent where it does not say. */
  readonly at?: number;
}

/** Key states, shared by all workers. */
export interface MinionKeys {
  /** From the watched cache. A miss is not final: ask `fetch`. */
  cached(id: string): StoredMinionKey | undefined;
  /** Reads through to the record itself. */
  fetch(id: string): Promise<StoredMinionKey | undefined>;
  /** Writes by compare-and-set; false when another writer was first. */
  store(id: string, next: MinionKey, previous: StoredMinionKey | undefined): Promise<boolean>;
  /** The parsed form of a public key, cached. Throws CryptError for an unusable one. */
  parsed(id: string, pem: string): PublicKey;
  /** Ids whose key is accepted. */
  accepted(): ReadonlySet<string>;
  /** All records, deleted ones included. */
  all(): Iterable<readonly [id: string, key: StoredMinionKey]>;
  /** How many keys wait for a decision. */
  pendingCount(): number;
  /**
   * Drops what belongs to a minion whose key is gone: its session key and, where `data` says so,
   * the data that it sent about itself.
   */
  forget(id: string, what: { readonly data: boolean }): Promise<void>;
}

/** Session keys of version 3 minions, shared by all workers. */
export interface SessionKeys {
  /** Current key first, then the one before it while it may still be used. */
  cached(id: string): readonly Crypticle[];
  /** Reads through, once, for an accepted id. */
  fetch(id: string): Promise<readonly Crypticle[]>;
  /**
   * The key to hand out at a log-in: the current one, or a new one when there is none or it is too
   * old.
   */
  current(id: string): Promise<Crypticle>;
  /** How many ids hold a session key: minions that logged in lately. */
  count(): number;
  /** Whether this id holds one. */
  has(id: string): boolean;
}

/** Minions that said that they are syndics; shared by all workers. */
export interface Syndics {
  isKnown(id: string): Promise<boolean>;
  /** Keeps that it is one. */
  remember(id: string): Promise<void>;
  /** Those that answer no job under their own id, so that no job waits for them. */
  unanswering(): ReadonlySet<string>;
  /** Keeps that a minion answers under the id of a syndic as well. */
  answers(id: string): Promise<void>;
}

/** The master's AES key: one per epoch, handed over in stream order. */
export interface AesKeys {
  /** Key of the last rotation marker this worker has read. */
  current(): Crypticle;
  /**
   * The key to hand out at a log-in. While a rotation is under way it waits for its end, because a
   * minion that gets the old key after the first publication under the new one drops that job.
   */
  forLogin(): Promise<Crypticle>;
  /** Begins to make a new key for all; a failure goes to the log. */
  rotate(): void;
  /**
   * Keys a version 2 request may be sealed with: the current one, then the last one while it may be
   * used.
   */
  forRequests(): readonly Crypticle[];
}

/** Work with the master's private key, off the event loop. */
export interface MasterKey {
  /** `master.pub`, trimmed PEM. */
  readonly publicPem: string;
  sign(data: Uint8Array, algo: SigAlgo): Promise<Buffer>;
  /** Rejects when the data was not encrypted to this key. */
  decrypt(data: Uint8Array, algo: EncAlgo): Promise<Buffer>;
  /**
   * X9.31 of the hex SHA-256 of an AES key string; cached per key (Salt: `sig` of the log-in
   * reply).
   */
  aesKeySignature(keyString: string): Promise<Buffer>;
  /** Base64 text over `pub_key` where `master_sign_pubkey` is set. */
  publicKeySignature?(algo: SigAlgo): Promise<string>;
}

/** What the signing files say of a new minion. */
export interface Autosign {
  decide(id: string, grains: SaltMap | undefined): Promise<'accept' | 'reject' | 'none'>;
}
