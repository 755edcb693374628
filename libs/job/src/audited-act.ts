/** Something that is on record: who did what to whom, from where, and what came of it. */
export interface AuditedAct {
  readonly kind: 'login' | 'key' | 'publish' | 'runner' | 'wheel' | 'token' | 'request';
  /** In one word or the name of an error: `done`, `accept`, `AuthorizationError`. */
  readonly outcome: string;
  /**
   * The name that was proven: the owner of the local key, the token, the login or the minion key.
   * Absent where nothing was proven.
   */
  readonly principal?: string;
  /** The name that the request gave itself, where it is not the one that was proven. */
  readonly claimed?: string;
  /**
   * Of a log-in. Whoever knows an id and its public key may log in: the row says `unproven` then.
   * The first request that only the holder of the private key can seal is the proof.
   */
  readonly proof?: 'unproven' | 'sealed request';
  /** By what: `key`, `token`, `eauth`, `minion`; what changed keys: `wheel`, `file`. */
  readonly method?: string;
  readonly fun?: string;
  /**
   * SHA-256 over the arguments. In a row it stands blinded with a key of the master's own:
   * arguments may be secrets that are easily guessed.
   */
  readonly argsHash?: string;
  readonly target?: string;
  /** Version of the payload of a log-in: below `minimum_auth_version` it is refused. */
  readonly version?: number;
  readonly jid?: string;
  readonly minions?: number;
  /** The host whose gateway or key files it came through. */
  readonly source?: string;
  /** The address that it came from, as the gateway saw it. */
  readonly peer?: string;
}
