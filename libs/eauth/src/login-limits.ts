import { networkOf } from '@brine/target';
import { LRUCache } from 'lru-cache';

/** So many failures at once, and then one each so many ms. */
interface Allowance {
  readonly burst: number;
  readonly eachMs: number;
}

/**
 * One name from one address, one address, one name. A person with a forgotten password has five
 * tries at once. Behind one address may be a whole site, or the service that all users log in
 * through. One address can use up only a twenty-fifth of what a name has: no stranger can lock a
 * user out by failed logins in that name.
 */
const PAIR: Allowance = { burst: 5, eachMs: 5_000 };
const ADDRESS: Allowance = { burst: 50, eachMs: 1_000 };
const NAME: Allowance = { burst: 250, eachMs: 200 };

/** Remembered of each kind; the one that was looked at longest ago is forgotten first. */
const KEPT_MAX = 20_000;
/** After a success the name is known at its address for so long. */
const KNOWN_MS = 86_400_000;

/** Whose password is tried, and from where. */
export interface Attempt {
  readonly module: string;
  readonly username: string;
  /** IP address, or the name of a host. */
  readonly from: string;
}

/**
 * Slows down the guessing of passwords. Only failures count, and they fade. A success clears the
 * name at its address, and for a day only its own failures count there. So neither a storm of
 * neighbours nor of strangers in its name stops it.
 */
export class LoginLimits {
  readonly #pairs: Failures;
  readonly #addresses: Failures;
  readonly #names: Failures;
  readonly #known: LRUCache<string, true>;

  /** @param nowMs a clock that is never set back */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#pairs = new Failures(PAIR, nowMs);
    this.#addresses = new Failures(ADDRESS, nowMs);
    this.#names = new Failures(NAME, nowMs);
    const perf = { now: nowMs };
    this.#known = new LRUCache({ max: KEPT_MAX, ttl: KNOWN_MS, ttlResolution: 0, perf });
  }

  /** Whether the password may be tried now. */
  mayTry(attempt: Attempt): boolean {
    const { pair, address, name } = keysOf(attempt);
    if (!this.#pairs.mayFail(pair)) return false;
    if (this.#known.has(pair)) return true;
    return this.#addresses.mayFail(address) && this.#names.mayFail(name);
  }

  failed(attempt: Attempt): void {
    const { pair, address, name } = keysOf(attempt);
    this.#pairs.add(pair);
    this.#addresses.add(address);
    this.#names.add(name);
  }

  succeeded(attempt: Attempt): void {
    const { pair } = keysOf(attempt);
    this.#pairs.forget(pair);
    this.#known.set(pair, true);
  }
}

/** Failures by a name of any kind; each fades after its time. */
class Failures {
  readonly #allowance: Allowance;
  readonly #nowMs: () => number;
  /** When the last one of them will have faded. */
  readonly #untilMs = new LRUCache<string, number>({ max: KEPT_MAX });

  constructor(allowance: Allowance, nowMs: () => number) {
    this.#allowance = allowance;
    this.#nowMs = nowMs;
  }

  mayFail(name: string): boolean {
    const { burst, eachMs } = this.#allowance;
    return (this.#untilMs.get(name) ?? 0) - this.#nowMs() <= (burst - 1) * eachMs;
  }

  add(name: string): void {
    const { burst, eachMs } = this.#allowance;
    const now = this.#nowMs();
    const until = Math.max(this.#untilMs.get(name) ?? 0, now) + eachMs;
    // Those that were tried at the same time do not reach further than one after the other.
    this.#untilMs.set(name, Math.min(until, now + burst * eachMs));
  }

  forget(name: string): void {
    this.#untilMs.delete(name);
  }
}

function keysOf({ module, username, from }: Attempt): Record<'pair' | 'address' | 'name', string> {
  const address = networkOf(from);
  const name = JSON.stringify([module, username]);
  return { pair: `${address} ${name}`, address, name };
}
