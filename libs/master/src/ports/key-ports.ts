import type { Crypticle, EncAlgo, PublicKey, SigAlgo } from '@brine/crypt';
import type { KeyState } from '@brine/job';
import type { SaltMap } from '@brine/wire';

/** The key of a minion. */
export interface MinionKey {
  readonly state: KeyState;
  /** Public key, PEM text. */
  readonly pub: string;
  /** Other keys that were offered under this id and refused, PEM texts, oldest first. */
  readonly denied: readonly string[];
}

/** A key with the revision of its record, for compare-and-set. */
export interface StoredMinionKey extends MinionKey {
  readonly revision: number;
  /** Time of the record, unix ms; absent in old records. */
  readonly at?: number;
}

/** Key states, shared by all workers. */
export interface MinionKeys {
  /** From the watched cache. A miss is not final: ask `fetch`. */
  cached(id: string): StoredMinionKey | undefined;
  /** Reads the record itself. */
  fetch(id: string): Promise<StoredMinionKey | undefined>;
  /** Writes by compare-and-set; false if another writer was first. */
  store(id: string, next: MinionKey, previous: StoredMinionKey | undefined): Promise<boolean>;
  /** The parsed form of a public key, cached. Throws CryptError for an unusable one. */
  parsed(id: string, pem: string): PublicKey;
  /** Ids whose key is accepted. */
  accepted(): ReadonlySet<string>;
  /** All records, deleted ones included. */
  all(): Iterable<readonly [id: string, key: StoredMinionKey]>;
  /** Number of undecided keys. */
  pendingCount(): number;
  /**
   * Drops the session key of a minion whose key is gone and, with `data`, the data that it sent
   * about itself.
   */
  forget(id: string, what: { readonly data: boolean }): Promise<void>;
}

/** Session keys of version 3 minions, shared by all workers. */
export interface SessionKeys {
  /** The current key, then its predecessor while that is still valid. */
  cached(id: string): readonly Crypticle[];
  /** Reads the record itself, once, for an accepted id. */
  fetch(id: string): Promise<readonly Crypticle[]>;
  /** The key for a log-in: the current one, or a new one if it is missing or too old. */
  current(id: string): Promise<Crypticle>;
  /** Number of ids with a session key: minions that logged in lately. */
  count(): number;
  /** True if this id has a session key. */
  has(id: string): boolean;
}

/** Minions that announced themselves as syndics; shared by all workers. */
export interface Syndics {
  isKnown(id: string): Promise<boolean>;
  /** Stores that a minion is a syndic. */
  remember(id: string): Promise<void>;
  /** Syndics that answer no job under their own id, so that no job waits for them. */
  unanswering(): ReadonlySet<string>;
  /** Stores that a syndic's id answers as a minion too. */
  answers(id: string): Promise<void>;
}

/** The master's AES key: one per epoch, replaced in stream order. */
export interface AesKeys {
  /** The key of the last rotation marker that this worker has read. */
  current(): Crypticle;
  /**
   * The key for a log-in. Waits for the end of a rotation: a minion with the old key would drop the
   * first publication under the new one.
   */
  forLogin(): Promise<Crypticle>;
  /** Starts the rotation to a new key; a failure is logged. */
  rotate(): void;
  /** Keys for version 2 requests: the current one, then the last one while it is valid. */
  forRequests(): readonly Crypticle[];
}

/** Operations with the master's private key, off the event loop. */
export interface MasterKey {
  /** `master.pub`, trimmed PEM. */
  readonly publicPem: string;
  sign(data: Uint8Array, algo: SigAlgo): Promise<Buffer>;
  /** Rejects data that were not encrypted to this key. */
  decrypt(data: Uint8Array, algo: EncAlgo): Promise<Buffer>;
  /**
   * X9.31 of the hex SHA-256 of an AES key string; cached per key (Salt: `sig` of the log-in
   * reply).
   */
  aesKeySignature(keyString: string): Promise<Buffer>;
  /** Base64 text over `pub_key`, if `master_sign_pubkey` is set. */
  publicKeySignature?(algo: SigAlgo): Promise<string>;
}

/** Decides on new minions with the signing files. */
export interface Autosign {
  decide(id: string, grains: SaltMap | undefined): Promise<'accept' | 'reject' | 'none'>;
}
