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
  // A key: what it was and what it is now, or that its minion took it back.
  | `${KeyState | 'none'} to ${KeyState}`
  | 'revoked'
  | 'revoke refused'
  // A request that stalled several workers and is delivered no more.
  | 'stalled'
  // The last row of a writer that was stopped in order.
  | 'end of record';

/** An act on record: its actor, what it did to what, from where, and what came of it. */
export interface AuditedAct {
  readonly kind: 'login' | 'key' | 'publish' | 'runner' | 'wheel' | 'token' | 'request';
  readonly outcome: AuditOutcome;
  /**
   * The name that was proven: the owner of the local key, the token, the login or the minion key.
   * Absent where nothing was proven.
   */
  readonly principal?: string;
  /**
   * What caused the act where its principal did not ask for it itself: a call (`runner.salt.execute
   * <jid>`), `batch <jid>`, `reactor <tag>` or `schedule <name>`.
   */
  readonly via?: string;
  /** The name that the request gave itself, where it is not the one that was proven. */
  readonly claimed?: string;
  /**
   * Of a log-in. An id and its public key are enough to log in, so the row has `unproven`. The
   * first request that only the owner of the private key can seal is the proof.
   */
  readonly proof?: 'unproven' | 'sealed request';
  /**
   * What proved the name, or was to prove it: `key`, `token`, `eauth`, `minion`. Of a key that
   * changed, what changed it: `wheel`, `file`. Of a stalled request, its class.
   */
  readonly method?: string;
  readonly fun?: string;
  /**
   * SHA-256 over the arguments. In a row it stands blinded with a key of the master's own, because
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

/** An act on record, as it goes to the store: part of a chain of seals that is its writer's own. */
export interface AuditRow {
  readonly writer: string;
  /** From 1, without gaps. */
  readonly n: number;
  /** JSON of the act with `at` (ISO 8601), and `leftOut`: acts before it that found no room. */
  readonly body: string;
  /** Seal of the row before. */
  readonly before: string;
  readonly seal: string;
}
