import { OncePer, type Trouble } from '@brine/tasks';
import {
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientError,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { type KnownUser, LoginError, RefusedLogin } from '../login-module.ts';
import { claimedUser } from './claimed-user.ts';
import { FlowBox } from './flow-box.ts';
import type { OidcOptions } from './oidc-options.ts';
import { Provider, troubleOf } from './provider.ts';

/** A log-in that a browser finishes at the provider. */
export interface BegunLogin {
  /** Where the browser goes. */
  readonly address: string;
  /** What it must have when it comes back; opaque. */
  readonly flow: string;
}

/** The same text is logged once in this time. */
const LOGGED_EACH_MS = 600_000;
/** The query that a browser comes back with; longer ones are refused. */
const CALLBACK_MAX = 8_192;

/**
 * Log-ins by OpenID Connect: authorization code with PKCE. The name and the groups are claims of
 * the ID token, whose signature, issuer, audience, times and nonce `openid-client` checks.
 */
export class OidcLogin {
  readonly #options: OidcOptions;
  readonly #provider: Provider;
  readonly #flows: FlowBox;
  readonly #onTrouble: Trouble;
  readonly #logged = new OncePer(LOGGED_EACH_MS);

  constructor(options: OidcOptions, onTrouble: Trouble) {
    this.#options = options;
    this.#provider = new Provider(options);
    this.#flows = new FlowBox(options);
    this.#onTrouble = onTrouble;
  }

  /** Begins a log-in. @throws LoginError, logged, if the provider does not answer */
  async begin(): Promise<BegunLogin> {
    const flow = {
      state: randomState(),
      nonce: randomNonce(),
      verifier: randomPKCECodeVerifier(),
    };
    const provider = await this.#reporting(() => this.#provider.open());
    const address = buildAuthorizationUrl(provider, {
      redirect_uri: this.#options.redirectUri,
      scope: this.#options.scopes.join(' '),
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    });
    return { address: address.href, flow: await this.#flows.seal(flow) };
  }

  /**
   * The user of a log-in that comes back; undefined if it is refused. The reason is in the log.
   * @param sealed the flow of {@link begin}
   * @param callback the query that the provider made the browser come back with
   * @throws LoginError, logged, if the provider does not answer
   */
  async finish(sealed: string, callback: string): Promise<KnownUser | undefined> {
    const flow = await this.#flows.open(sealed);
    if (flow === undefined || callback.length > CALLBACK_MAX) return undefined;
    const url = new URL(this.#options.redirectUri);
    url.search = callback;
    return this.#reporting(async () => {
      const provider = await this.#provider.open();
      try {
        const tokens = await authorizationCodeGrant(provider, url, {
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          pkceCodeVerifier: flow.verifier,
          idTokenExpected: true,
        });
        return claimedUser(tokens.claims() ?? {}, this.#options);
      } catch (error) {
        const reason = reasonOf(error);
        if (reason === undefined) throw troubleOf(error) ?? error;
        // Without the error itself, which has the code or the token in it.
        this.#log(`external_auth:oidc: a log-in is refused: ${reason}`, undefined);
        return undefined;
      }
    });
  }

  async #reporting<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof LoginError) this.#log(error.message, error.cause);
      throw error;
    }
  }

  #log(text: string, cause: unknown): void {
    if (this.#logged.pass(text) > 0) this.#onTrouble(text, cause);
  }
}

/** Why a log-in is refused, without a text of the browser; undefined for any other fault. */
function reasonOf(error: unknown): string | undefined {
  if (troubleOf(error) !== undefined) return undefined;
  if (error instanceof RefusedLogin) return error.message;
  // The address of the browser has this error: it is not text of the provider for sure.
  if (error instanceof AuthorizationResponseError) return 'the provider sends an error back';
  if (error instanceof WWWAuthenticateChallengeError) {
    return 'the provider does not take brine.oidc.client_id and client_secret';
  }
  if (error instanceof ResponseBodyError) return 'the provider does not take the code';
  if (!(error instanceof ClientError)) return undefined;
  return error.cause instanceof Error ? error.cause.message : error.message;
}
