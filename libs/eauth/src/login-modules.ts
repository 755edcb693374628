import { LoginError, type KnownUser, type LoginModule } from './login-module.ts';

/** What logins need of the outside. */
export interface LoginModulesOptions {
  readonly modules: Readonly<Record<string, LoginModule>>;
  /** For the log; called once per text. */
  readonly onTrouble: (text: string, cause: unknown) => void;
  /** Mean time of a refusal in ms, default 1000 as in Salt. */
  readonly refusalMs?: number;
}

/** Logins that are looked at at the same time; whoever comes then is refused at once. */
const AT_ONCE_MAX = 256;

/** A directory or a REST service that takes longer than this has refused. */
const CHECK_TIMEOUT_MS = 10_000;

/** Longer ones belong to nobody. A password may be a certificate. */
const NAME_MAX = 256;
const PASSWORD_MAX = 65_536;

/** Different troubles that are told; a module that makes up texts must not fill the log. */
const TROUBLES_MAX = 100;

/**
 * The login modules by name (salt/auth/__init__.py LoadAuth). A refusal takes about a second,
 * whatever its reason, and as long as the slowest one so far, give or take a quarter: guessing is
 * slow and its time tells nothing.
 */
export class LoginModules {
  readonly #options: LoginModulesOptions;
  readonly #told = new Set<string>();
  #slowestMs: number;
  #busy = 0;

  constructor(options: LoginModulesOptions) {
    this.#options = options;
    this.#slowestMs = options.refusalMs ?? 1000;
  }

  /** Who this is; undefined for everybody who is not let in. Never rejects. */
  async vouch(module: string, username: string, password: string): Promise<KnownUser | undefined> {
    if (this.#busy >= AT_ONCE_MAX) {
      this.#tell(`more than ${AT_ONCE_MAX} logins at once: the rest is refused`, undefined);
      return undefined;
    }
    this.#busy += 1;
    const startMs = performance.now();
    try {
      const known = await this.#check(module, username, password);
      if (known === undefined) await this.#wait(startMs);
      return known;
    } finally {
      this.#busy -= 1;
    }
  }

  async #check(module: string, username: string, password: string) {
    const { modules } = this.#options;
    const chosen = Object.hasOwn(modules, module) ? modules[module] : undefined;
    if (chosen === undefined) return undefined;
    if (username === '' || username.length > NAME_MAX || username.includes('\0')) return undefined;
    if (password.length > PASSWORD_MAX) return undefined;
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const late = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(new LoginError(`external_auth:${module}: no answer in ${CHECK_TIMEOUT_MS} ms`));
      });
    });
    try {
      return await Promise.race([chosen.check({ username, password }, signal), late]);
    } catch (cause) {
      const told = cause instanceof LoginError;
      this.#tell(told ? cause.message : `external_auth:${module} failed`, cause);
      return undefined;
    }
  }

  async #wait(startMs: number): Promise<void> {
    this.#slowestMs = Math.max(this.#slowestMs, performance.now() - startMs);
    const meantMs = this.#slowestMs * (0.75 + Math.random() / 2);
    const restMs = startMs + meantMs - performance.now();
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
  }

  #tell(text: string, cause: unknown): void {
    if (this.#told.has(text) || this.#told.size >= TROUBLES_MAX) return;
    this.#told.add(text);
    this.#options.onTrouble(text, cause);
  }
}
