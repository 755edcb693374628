/** A user that a module knows. */
export interface KnownUser {
  readonly name: string;
  readonly groups: readonly string[];
  /** Rights that the module itself gives, in the shape of `external_auth`. */
  readonly acl?: readonly unknown[];
}

/** A name and what is to prove it. */
export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** One way to check a name and a password. */
export interface LoginModule {
  /**
   * Undefined if the module does not know the user, or the password is wrong. Rejects if it can not
   * find out; the text contains no secret. Gives up when `signal` is aborted.
   */
  check(credentials: Credentials, signal: AbortSignal): Promise<KnownUser | undefined>;
}

/** Why a module can not check logins just now: a text for the operator, without secrets. */
export class LoginError extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options);
    this.name = 'LoginError';
  }
}

/** Why a log-in is refused: a text for the operator, without secrets and names. */
export class RefusedLogin extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'RefusedLogin';
  }
}

/** The settings of a module: what stands below its name in `external_auth`, with its `^`. */
export type ModuleSettings = Readonly<Record<string, unknown>>;

/** A setting as text; the preset where it is missing. */
export function settingText(settings: ModuleSettings, name: string, preset: string): string {
  const value = Object.hasOwn(settings, name) ? settings[name] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : preset;
}
