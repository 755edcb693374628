/** Something that is on record: who did what to whom, from where, and what came of it. */
export interface AuditedAct {
  readonly kind: 'login' | 'key' | 'publish' | 'runner' | 'wheel' | 'token';
  /** In one word or the name of an error: `accept`, `AuthorizationError`. */
  readonly outcome: string;
  /** Who asked, as he named himself; that it is so is what `outcome` tells. */
  readonly principal?: string;
  /** How he proved it: `key`, `token`, `eauth`; what changed keys: `wheel`, `file`. */
  readonly method?: string;
  readonly fun?: string;
  /** SHA-256 over the arguments: they may hold secrets. The writer blinds it. */
  readonly argsHash?: string;
  readonly target?: string;
  /** Version of the payload of a log-in: below `minimum_auth_version` it is refused. */
  readonly version?: number;
  readonly jid?: string;
  readonly minions?: number;
  /** The host whose gateway or key files it came through. */
  readonly source?: string;
}

/** Puts what was done on record, off the way of the request: neither throws nor waits. */
export interface AuditRecord {
  record(act: AuditedAct): void;
  /**
   * A refusal. Anybody may cause these as often as he likes: past an allowance they are counted,
   * and the next row tells how many were left out.
   */
  recordRefusal(act: AuditedAct): void;
}
