import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  type CustomFetchOptions,
  discovery,
  enableNonRepudiationChecks,
  type ServerMetadata,
} from 'openid-client';
import { LoginError } from '../login-module.ts';
import type { OidcOptions } from './oidc-options.ts';

/** The description of the provider is asked for again after this time. */
const KNOWN_MS = 300_000;
/** After a failure it is not asked again for this time, however many begin a log-in. */
const RESTS_MS = 5_000;
/** A log-in asks three times at most; the browser waits meanwhile. */
const TIMEOUT_MS = 8_000;
/** Keys and tokens have some KB. */
const ANSWER_MAX_BYTES = 262_144;

/** Endpoints of a provider that this host or the browser is sent to. */
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/**
 * A provider of OpenID Connect. Its description sends this host nowhere but to the origins of the
 * configuration.
 */
export class Provider {
  readonly #options: OidcOptions;
  readonly #origins: ReadonlySet<string>;
  #known: { readonly found: Promise<ServerMetadata>; readonly untilMs: number } | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
    this.#origins = new Set([options.issuer, ...options.origins].map((url) => new URL(url).origin));
  }

  /**
   * The provider for one log-in: the library keeps keys as long as this, so new keys count at once.
   * @throws LoginError if the provider does not answer, or answers with something else
   */
  async open(): Promise<Configuration> {
    const { clientId, clientSecret, issuer } = this.#options;
    const metadata = await this.#metadata();
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const proof = methods.includes('client_secret_basic')
      ? ClientSecretBasic(clientSecret)
      : ClientSecretPost(clientSecret);
    const provider = new Configuration(metadata, clientId, {}, proof);
    provider[customFetch] = this.#fetchWithin(AbortSignal.timeout(TIMEOUT_MS));
    // Signatures are checked although the token comes by TLS.
    enableNonRepudiationChecks(provider);
    if (issuer.startsWith('http:')) allowInsecureRequests(provider);
    return provider;
  }

  #metadata(): Promise<ServerMetadata> {
    const now = performance.now();
    if (this.#known !== undefined && now < this.#known.untilMs) return this.#known.found;
    const found = this.#discover();
    this.#known = { found, untilMs: now + KNOWN_MS };
    found.catch(() => {
      this.#known = { found, untilMs: performance.now() + RESTS_MS };
    });
    return found;
  }

  async #discover(): Promise<ServerMetadata> {
    const { issuer, clientId } = this.#options;
    const isPlain = issuer.startsWith('http:');
    let metadata: ServerMetadata;
    try {
      const found = await discovery(new URL(issuer), clientId, undefined, undefined, {
        [customFetch]: this.#fetchWithin(AbortSignal.timeout(TIMEOUT_MS)),
        ...(isPlain ? { execute: [allowInsecureRequests] } : {}),
      });
      metadata = found.serverMetadata();
    } catch (cause) {
      throw troubleOf(cause) ?? new LoginError(ODD, { cause });
    }
    // The library compares addresses, where `https://host` and `https://host/` are one.
    if (metadata.issuer !== issuer) {
      throw new LoginError('brine.oidc.issuer is not written as the provider writes it');
    }
    for (const endpoint of ENDPOINTS) {
      const url = metadata[endpoint];
      if (url === undefined || !URL.canParse(url)) throw new LoginError(ODD);
      this.#check(new URL(url));
    }
    return metadata;
  }

  #fetchWithin(
    signal: AbortSignal,
  ): (url: string, options: CustomFetchOptions) => Promise<Response> {
    return async (url, options) => {
      this.#check(new URL(url));
      let answer: Response;
      try {
        const { body = null, ...rest } = options;
        answer = await fetch(url, { ...rest, body, redirect: 'manual', signal });
        if (answer.status >= 500) {
          await answer.body?.cancel();
          throw new LoginError(`external_auth:oidc: the provider answers with ${answer.status}`);
        }
        return await readWhole(answer);
      } catch (cause) {
        if (cause instanceof LoginError) throw cause;
        throw new LoginError('external_auth:oidc: the provider does not answer', { cause });
      }
    };
  }

  #check({ origin }: URL): void {
    if (this.#origins.has(origin)) return;
    throw new LoginError(
      `external_auth:oidc: the provider names an endpoint at ${origin}, which is neither ` +
        'brine.oidc.issuer nor in brine.oidc.origins',
    );
  }
}

const ODD = 'external_auth:oidc: the provider does not describe itself as OpenID Connect demands';

/** The trouble with the provider that an error of the library has below it. */
export function troubleOf(error: unknown): LoginError | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth += 1) {
    if (one instanceof LoginError) return one;
  }
  return undefined;
}

/** The answer with its whole body, which is then bounded. */
async function readWhole(answer: Response): Promise<Response> {
  const { status, headers } = answer;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > ANSWER_MAX_BYTES) {
      throw new LoginError('external_auth:oidc: an answer of the provider is too long');
    }
    chunks.push(bytes);
  }
  // Some statuses have no body.
  return new Response(size === 0 ? null : Buffer.concat(chunks), { status, headers });
}
