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
