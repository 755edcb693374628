import { OncePer, type Trouble } from '@brine/tasks';
import { LoginLane } from './login-lane.ts';
import { type Attempt, LoginLimits } from './login-limits.ts';
import { type KnownUser, LoginError, type LoginModule } from './login-module.ts';

/** What logins need of the outside. */
export interface LoginModulesOptions {
  readonly modules: Readonly<Record<string, LoginModule>>;
  /** For the log; called once per text. */
  readonly onTrouble: Trouble;
  /** Mean time of a refusal in ms, default 1000 as in Salt. */
  readonly refusalMs?: number;
  /** Counts the logins that are refused at once, by a name. */
  readonly count?: (name: string) => void;
  readonly limits?: LoginLimits;
}

/**
 * Logins in hand: waiting for their turn, being checked, or refused and not yet answered. Above
 * this a login is refused at once. A gateway sends a worker 320 requests of their class.
 */
const IN_HAND_MAX = 192;
/** Of these, of one address. */
const IN_HAND_OF_ONE_MAX = 160;

/** A refusal takes no longer than so many times the usual time, however slow one was. */
const SLOWEST_FACTOR = 5;
/** How slow one was counts half after this time. */
const SLOWEST_HALF_MS = 60_000;

/** A directory or a REST service that takes longer than this has refused. */
const CHECK_TIMEOUT_MS = 10_000;

/** Longer ones are refused unchecked. A password may be a certificate. */
const NAME_MAX = 256;
const PASSWORD_MAX = 65_536;

/** What became of a check. */
type Checked<T> =
  | { readonly kind: 'known'; readonly user: T }
  | { readonly kind: 'unknown' }
  /** No module was asked, or the module had no answer. */
  | { readonly kind: 'unanswered' };

/**
 * The login modules by name (salt/auth/__init__.py LoadAuth). A refusal takes about a second, for
 * every reason, or as long as the slowest recent one, give or take a quarter. So guessing is slow,
 * and the time of a refusal betrays nothing. A client that failed too often is refused at once and
 * unchecked; so is a login while too many are in hand.
 */
export class LoginModules {
  readonly #options: LoginModulesOptions;
  /** A module that makes up texts must not fill the log. */
  readonly #troubles = new OncePer(Infinity);
  readonly #limits: LoginLimits;
  readonly #lane = new LoginLane();
  readonly #inHand = new Map<string, number>();
  #slowest: { readonly ms: number; readonly atMs: number };
  #busy = 0;

  constructor(options: LoginModulesOptions) {
    this.#options = options;
    this.#limits = options.limits ?? new LoginLimits();
    this.#slowest = { ms: this.#usualMs, atMs: performance.now() };
  }

  /**
   * Who this is; undefined if the login is refused. Never rejects.
   * @param from the address of the client
   */
  async vouch(
    module: string,
    username: string,
    password: string,
    from: string,
  ): Promise<KnownUser | undefined> {
    return this.#limited({ module, username, from }, () =>
      this.#check({ module, username }, password),
    );
  }

  /**
   * The same for another proof than a password, with the limits of its kind and of the address.
   * Rejects as `check` does.
   * @param proof names the kind
   * @param check resolves with undefined if the proof is wrong
   * @param username whose failures count together, beside those of the address
   */
  async prove<T>(
    proof: string,
    from: string,
    check: () => Promise<T | undefined>,
    username = '',
  ): Promise<T | undefined> {
    let fault: { readonly error: unknown } | undefined;
    const found = await this.#limited<T>({ module: proof, username, from }, async () => {
      try {
        const user = await check();
        return user === undefined ? { kind: 'unknown' } : { kind: 'known', user };
      } catch (error) {
        fault = { error };
        return { kind: 'unanswered' };
      }
    });
    if (fault !== undefined) throw fault.error;
    return found;
  }

  async #limited<T>(attempt: Attempt, check: () => Promise<Checked<T>>): Promise<T | undefined> {
    const { from } = attempt;
    const ofOne = this.#inHand.get(from) ?? 0;
    if (this.#busy >= IN_HAND_MAX || ofOne >= IN_HAND_OF_ONE_MAX) {
      return this.#refuse('login_busy', 'too many logins at once: some are refused unasked');
    }
    this.#busy += 1;
    this.#inHand.set(from, ofOne + 1);
    try {
      return await this.#inTurn(attempt, check);
    } finally {
      this.#busy -= 1;
      const left = (this.#inHand.get(from) ?? 1) - 1;
      if (left === 0) this.#inHand.delete(from);
      else this.#inHand.set(from, left);
    }
  }

  async #inTurn<T>(attempt: Attempt, check: () => Promise<Checked<T>>): Promise<T | undefined> {
    let startMs = performance.now();
    const checked = await this.#lane.run(attempt.from, async () => {
      // Looked at when its turn has come: those before it may have failed.
      if (!this.#limits.mayTry(attempt)) return undefined;
      startMs = performance.now();
      const found = await check();
      if (found.kind === 'known') this.#limits.succeeded(attempt);
      if (found.kind === 'unknown') this.#limits.failed(attempt);
      return found;
    });
    if (checked === undefined) {
      return this.#refuse('login_limited', 'too many failed logins: some are refused unasked');
    }
    if (checked.kind === 'known') return checked.user;
    await this.#wait(startMs, checked.kind === 'unknown');
    return undefined;
  }

  #refuse(name: string, text: string): undefined {
    this.#options.count?.(name);
    this.#log(text, undefined);
  }

  async #check(
    { module, username }: Pick<Attempt, 'module' | 'username'>,
    password: string,
  ): Promise<Checked<KnownUser>> {
    const { modules } = this.#options;
    const chosen = Object.hasOwn(modules, module) ? modules[module] : undefined;
    if (chosen === undefined) return { kind: 'unknown' };
    const isName = username !== '' && username.length <= NAME_MAX && !username.includes('\0');
    if (!isName || password.length > PASSWORD_MAX) return { kind: 'unknown' };
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const late = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(new LoginError(`external_auth:${module}: no answer in ${CHECK_TIMEOUT_MS} ms`));
      });
    });
    try {
      const user = await Promise.race([chosen.check({ username, password }, signal), late]);
      return user === undefined ? { kind: 'unknown' } : { kind: 'known', user };
    } catch (cause) {
      const isOurs = cause instanceof LoginError;
      this.#log(isOurs ? cause.message : `external_auth:${module} failed`, cause);
      return { kind: 'unanswered' };
    }
  }

  get #usualMs(): number {
    return this.#options.refusalMs ?? 1000;
  }

  /** Without an answer of a module, the time it took shows nothing about the name. */
  async #wait(startMs: number, wasAnswered: boolean): Promise<void> {
    const now = performance.now();
    const usualMs = this.#usualMs;
    const { ms, atMs } = this.#slowest;
    const ofLate = usualMs + (ms - usualMs) * 0.5 ** ((now - atMs) / SLOWEST_HALF_MS);
    const took = wasAnswered ? Math.min(now - startMs, usualMs * SLOWEST_FACTOR) : 0;
    this.#slowest = { ms: Math.max(ofLate, took), atMs: now };
    const meantMs = this.#slowest.ms * (0.75 + Math.random() / 2);
    const restMs = startMs + meantMs - now;
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
  }

  #log(text: string, cause: unknown): void {
    if (this.#troubles.pass(text) > 0) this.#options.onTrouble(text, cause);
  }
}
