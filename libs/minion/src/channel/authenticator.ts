import { CryptError } from '@brine/crypt';
import { backoffMs, type Log } from '@brine/tasks';
import { WireError } from '@brine/wire';
import { MinionError } from '../errors.ts';
import type { Clock, MasterKeyFile, MasterRequests } from '../ports.ts';
import {
  beginSignIn,
  type Credentials,
  finishSignIn,
  type SignInIdentity,
  type SignInOutcome,
} from './sign-in.ts';

/** The parts of the authenticator. */
export interface AuthenticatorParts {
  readonly me: SignInIdentity;
  readonly requests: MasterRequests;
  readonly masterKeyFile: MasterKeyFile;
  readonly clock: Clock;
  readonly log: Log;
}

/** Times of sign-ins, in seconds. */
export interface AuthenticatorTimes {
  readonly authTimeout: number;
  readonly authTries: number;
  readonly acceptanceWaitTime: number;
  readonly acceptanceWaitTimeMax: number;
  readonly rejectedRetry: boolean;
}

// Salt: salt/crypt.py, a rejected minion sleeps this long, plus a random time up to as much.
const REJECTED_WAIT_MS = 10_000;

/** Signs in, and again while the key is pending; one sign-in at a time. */
export class Authenticator {
  readonly #parts: AuthenticatorParts;
  readonly #times: AuthenticatorTimes;
  #current: Credentials | undefined;
  #flight: Promise<Credentials> | undefined;

  constructor(parts: AuthenticatorParts, times: AuthenticatorTimes) {
    this.#parts = parts;
    this.#times = times;
  }

  /** The credentials of the last sign-in. */
  get current(): Credentials | undefined {
    return this.#current;
  }

  /**
   * New credentials. With `stale`, only if those are still current: several callers with stale
   * credentials share one sign-in.
   *
   * Throws MinionError: SIGN_IN if the tries are used up, others with an exit code.
   */
  renew(stale: Credentials | undefined, signal: AbortSignal): Promise<Credentials> {
    if (this.#current !== undefined && this.#current !== stale) {
      return Promise.resolve(this.#current);
    }
    this.#flight ??= this.#round(signal).finally(() => (this.#flight = undefined));
    return this.#flight;
  }

  /** Signs in without a time limit; throws only errors that end the process, or at the signal. */
  async signInAtLast(signal: AbortSignal): Promise<Credentials> {
    const firstMs = this.#times.acceptanceWaitTime * 1000;
    // Salt: salt/crypt.py, with a maximum of 0 (the default) every wait is as long as the first.
    const longestMs = Math.max(firstMs, this.#times.acceptanceWaitTimeMax * 1000);
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.renew(undefined, signal);
      } catch (error) {
        signal.throwIfAborted();
        await this.#afterFailure(error, backoffMs({ firstMs, longestMs }, failures), signal);
      }
    }
  }

  async #afterFailure(error: unknown, waitMs: number, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    if (!(error instanceof MinionError)) throw error;
    log.warn({ code: error.code }, error.message);
    if (error.code === 'SALT_MINION_REJECTED') {
      await clock.sleep(REJECTED_WAIT_MS * (1 + clock.random()), signal);
      if (!this.#times.rejectedRetry) throw error;
      return;
    }
    if (error.exitCode !== undefined) throw error;
    await clock.sleep(waitMs, signal);
  }

  /** Makes as many tries as Salt before it waits. A definite answer of the master ends them. */
  async #round(signal: AbortSignal): Promise<Credentials> {
    let last: unknown;
    for (let i = 0; i < Math.max(1, this.#times.authTries); i += 1) {
      signal.throwIfAborted();
      const outcome = await this.#attempt(signal).catch((error: unknown) => {
        if (error instanceof MinionError) throw error;
        if (error instanceof WireError || error instanceof CryptError) {
          throw new MinionError('SALT_MINION_SIGN_IN', 'the answer can not be used', {
            cause: error,
          });
        }
        last = error; // no answer in time: next try
        return undefined;
      });
      if (outcome?.kind === 'accepted') return this.#accept(outcome);
      if (outcome?.kind === 'pending') {
        throw new MinionError('SALT_MINION_SIGN_IN', 'the key waits to be accepted by the master');
      }
      if (outcome?.kind === 'full') {
        throw new MinionError('SALT_MINION_SIGN_IN', 'the master takes no more minions');
      }
    }
    throw new MinionError('SALT_MINION_SIGN_IN', 'the master does not answer', { cause: last });
  }

  async #attempt(signal: AbortSignal): Promise<SignInOutcome> {
    const { me, requests, masterKeyFile } = this.#parts;
    const known = await masterKeyFile.readMasterPub();
    const attempt = beginSignIn(me, known);
    const timeoutMs = this.#times.authTimeout * 1000;
    const reply = await requests.request(attempt.body, { timeoutMs, signal });
    return finishSignIn(me, attempt, known, reply);
  }

  async #accept(outcome: SignInOutcome & { readonly kind: 'accepted' }): Promise<Credentials> {
    const { credentials, newMaster } = outcome;
    if (newMaster) await this.#parts.masterKeyFile.writeMasterPub(credentials.masterPub);
    this.#current = credentials;
    this.#parts.log.info({ publishPort: credentials.publishPort }, 'signed in');
    return credentials;
  }
}
