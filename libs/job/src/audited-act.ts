import type { KeyState } from './minion-id.ts';

/**
 * The outcome of an act. Rows on record never change, so an outcome may be added here, but not
 * renamed. A Salt error is its own outcome: `AuthorizationError`.
 */
export type AuditOutcome =
  // A command, a runner, a wheel, a token.
  | 'done'
  | 'refused'
  | 'not available'
  | 'busy'
  | 'error'
  | `${string}Error`
  // A log-in: the acts of Salt's `salt/auth`; `first accept` is for a key not known before.
  | 'accept'
  | 'pend'
  | 'reject'
  | 'denied'
  | 'full'
  | 'first accept'
  | 'no minion id'
  | 'id with signs of a shell'
  | 'oversized key'
  | 'unusable key'
  | 'bad enc algo'
  // The states of a key before and after, or that its minion withdrew it.
  | `${KeyState | 'none'} to ${KeyState}`
  | 'revoked'
  | 'revoke refused'
  // A request that stalled several workers and is no longer delivered.
  | 'stalled'
  // The last row of a writer that was stopped in order.
  | 'end of record';

/** An act on record: its actor, its function, its target, its source and its outcome. */
export interface AuditedAct {
  readonly kind: 'login' | 'key' | 'publish' | 'runner' | 'wheel' | 'token' | 'request' | 'read';
  readonly outcome: AuditOutcome;
  /**
   * The name that was proven: the owner of the local key, the token, the login or the minion key.
   * Absent where nothing was proven.
   */
  readonly principal?: string;
  /**
   * The cause of the act if its principal did not ask for it: a call (`runner.salt.execute <jid>`),
   * `batch <jid>`, `reactor <tag>` or `schedule <name>`.
   */
  readonly via?: string;
  /** The name in the request, if it is not the proven one. */
  readonly claimed?: string;
  /**
   * For log-ins only. An id and its public key are enough to log in, so the row has `unproven`. The
   * first request that only the owner of the private key can seal is the proof.
   */
  readonly proof?: 'unproven' | 'sealed request';
  /**
   * The method.
   * - The proof of the name: `key`, `token`, `eauth`, `minion`.
   * - For a changed key the source of the change: `wheel`, `file`.
   * - For a stalled request its class.
   */
  readonly method?: string;
  readonly fun?: string;
  /**
   * SHA-256 over the arguments. A row has it blinded with a key of the master, because arguments
   * may be secrets that are easily guessed.
   */
  readonly argsHash?: string;
  readonly target?: string;
  /** Of a value that was revealed: its place in the pillar of `target`; absent for all of it. */
  readonly path?: string;
  /** Version of the payload of a log-in: below `minimum_auth_version` the log-in is refused. */
  readonly version?: number;
  readonly jid?: string;
  readonly minions?: number;
  /** The host whose gateway or key files it came through. */
  readonly source?: string;
  /** The address that it came from, as the gateway saw it. */
  readonly peer?: string;
}

/** An act on record in the form that the store gets: a link in the chain of seals of its writer. */
export interface AuditRow {
  readonly writer: string;
  /** From 1, without gaps. */
  readonly n: number;
  /**
   * JSON of the act with `at` (ISO 8601), and `leftOut`: earlier acts for which there was no room.
   */
  readonly body: string;
  /** Seal of the row before. */
  readonly before: string;
  readonly seal: string;
}
