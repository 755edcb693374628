import type { SaltValue } from '@brine/wire';

/** The options that grant rights; Salt's names in camel case. */
export interface AccessRules {
  /** Rights by login module, as in the file. */
  readonly externalAuth: Readonly<Record<string, unknown>>;
  readonly publisherAcl: Readonly<Record<string, unknown>>;
  readonly sudoAcl: boolean;
  readonly permissiveAcl: boolean;
  readonly keepAclInToken: boolean;
  /** Seconds. */
  readonly tokenExpire: number;
  /** true, or by login module the users that may choose another time. */
  readonly tokenExpireUserOverride: unknown;
  /** Determines the token's name, and so its length. */
  readonly hashType: string;
}

/** A user that a login module has confirmed. */
export interface Vouched {
  readonly name: string;
  readonly groups: readonly string[];
  /** Rights from the module itself; they replace those of the file. */
  readonly acl?: SaltValue;
}

/** The login modules (`salt/auth/*`). */
export interface Logins {
  /**
   * Checks a name and a password; undefined if they are refused. A refusal takes about a second,
   * whatever its reason, but none after too many failures or while too many checks run. Never
   * rejects.
   * @param from the address of the client
   */
  vouch(
    module: string,
    username: string,
    password: string,
    from: string,
  ): Promise<Vouched | undefined>;
  /**
   * The same limits and times for another proof; `check` resolves with undefined if it is wrong.
   * Rejects as `check` does.
   * @param proof names the kind of proof
   * @param from the address of the client
   */
  prove<T>(
    proof: string,
    from: string,
    check: () => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /** Undefined if no provider is configured. */
  readonly elsewhere?: LoginsElsewhere | undefined;
}

/** A log-in that a browser finishes elsewhere. */
export interface BegunLogin {
  /** Where the browser goes. */
  readonly address: string;
  /** What it comes back with, beside the query; opaque. */
  readonly flow: string;
}

/** Log-ins at a provider elsewhere: OpenID Connect. Neither method rejects because of it. */
export interface LoginsElsewhere {
  /** Undefined if the provider does not answer. */
  begin(): Promise<BegunLogin | undefined>;
  /**
   * Undefined if the log-in is refused; `away` if the provider does not answer. The limits are
   * those of other proofs.
   * @param callback the query that the browser comes back with
   * @param from the address of the client
   */
  finish(flow: string, callback: string, from: string): Promise<Vouched | 'away' | undefined>;
}

/** A local key that a token or a code stands for: its rights are those of the key. */
export interface KeptKey {
  /** SHA-256 of the key, in hexadecimal digits. */
  readonly hash: string;
  /** The user that was named with the key, as `sudo_bob`. */
  readonly user?: string;
}

/** The record of a token. Times are unix seconds. */
export interface TokenRecord {
  readonly start: number;
  readonly expire: number;
  readonly name: string;
  readonly eauth: string;
  readonly groups?: readonly string[];
  /** Rights at its creation (`keep_acl_in_token`). */
  readonly authList?: SaltValue;
  /** The local key that it stands for; `eauth` then names no module. */
  readonly key?: KeptKey;
}

/** What a one-time code stands for. */
export interface CodeRecord {
  readonly key: KeptKey;
  /** Unix seconds. */
  readonly expire: number;
}

/**
 * One-time codes, shared by all workers. Each method rejects with MasterUnavailableError while they
 * are unreachable.
 */
export interface Codes {
  /** Keeps a code by its SHA-256; false if there is or was one with it. */
  keep(hash: string, record: CodeRecord): Promise<boolean>;
  /** Takes a code, which is then gone for all; of several that take it one gets it. */
  take(code: string): Promise<CodeRecord | undefined>;
}

/**
 * Tokens, shared by all workers. Each method rejects with MasterUnavailableError while they are
 * unreachable.
 */
export interface Tokens {
  keep(token: string, record: TokenRecord): Promise<void>;
  find(token: string): Promise<TokenRecord | undefined>;
  forget(token: string): Promise<void>;
}
