import { generateKeyPairSync } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Provider from 'oidc-provider';

const CLIENT_ID = 'brine';
const CLIENT_SECRET = 'the-secret-of-brine-at-the-provider';
/** In the browser: finds its log-in again. */
const INTERACTION = '/interaction/';

/** What a grant of the provider is made with. */
interface GrantContext {
  readonly oidc: {
    readonly provider: Provider;
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
  };
}

/** A provider of OpenID Connect (oidc-provider) on loopback, with a log-in page of one field. */
export class OidcPeer {
  /** Claims of accounts, by the name that one logs in with. */
  readonly accounts = new Map<string, Readonly<Record<string, unknown>>>();
  readonly clientId = CLIENT_ID;
  readonly clientSecret = CLIENT_SECRET;
  readonly issuer: string;
  readonly #server: Server;
  readonly #redirectUri: string;
  #provider: Provider;
  #serve: RequestListener;

  private constructor(server: Server, redirectUri: string) {
    this.#server = server;
    this.#redirectUri = redirectUri;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#provider = this.#newProvider();
    this.#serve = this.#provider.callback();
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.url?.startsWith(INTERACTION) === true) void this.#interact(request, response);
      else this.#serve(request, response);
    });
  }

  /** @param redirectUri of the only client */
  static async start(redirectUri: string): Promise<OidcPeer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new OidcPeer(server, redirectUri);
  }

  /** Signs with a new key from now on; the one before is not published any more. */
  rotateKeys(): void {
    this.#provider = this.#newProvider();
    this.#serve = this.#provider.callback();
  }

  /**
   * Logs in as a browser does.
   * @param address where Brine has sent the browser
   * @returns where the provider sends it back to
   */
  async logIn(address: string, account: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let url = new URL(address);
    for (let step = 0; step < 10; step += 1) {
      if (url.href.startsWith(`${this.#redirectUri}?`)) return url;
      const isPage = url.pathname.startsWith(INTERACTION);
      const answer = await fetch(url, {
        redirect: 'manual',
        headers: { Cookie: [...cookies].map((one) => one.join('=')).join('; ') },
        ...(isPage ? { method: 'POST', body: new URLSearchParams({ login: account }) } : {}),
      });
      for (const cookie of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
        cookies.set(name, value);
      }
      const location = answer.headers.get('location');
      if (location === null) throw new Error(`${url.href}: ${await answer.text()}`);
      url = new URL(location, url);
    }
    throw new Error('the provider does not come to an end');
  }

  /** Ends it; from then on nothing answers at its address. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #newProvider(): Provider {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const jwk = { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' };
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: [this.#redirectUri],
        },
      ],
      jwks: { keys: [jwk] },
      cookies: { keys: ['of the tests'] },
      // Without these it warns of its defaults.
      ttl: Object.fromEntries(
        ['AccessToken', 'Grant', 'IdToken', 'Interaction', 'Session'].map((one) => [one, 600]),
      ),
      pkce: { required: () => true },
      claims: { openid: ['sub'], profile: ['preferred_username', 'groups', '_claim_names'] },
      // Claims of a scope are in the ID token itself.
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => INTERACTION + uid },
      findAccount: (_: unknown, accountId: string) => this.#account(accountId),
      loadExistingGrant: async ({ oidc }: GrantContext) => {
        const { clientId } = oidc.client;
        const { accountId } = oidc.session;
        const grant = new oidc.provider.Grant({ accountId, clientId });
        grant.addOIDCScope('openid profile');
        await grant.save();
        return grant;
      },
      renderError: (context: { body: string }, { error_description }: Record<string, string>) => {
        context.body = `refused: ${error_description}`;
      },
    });
    return provider;
  }

  #account(accountId: string): object | undefined {
    const claims = this.accounts.get(accountId);
    return claims && { accountId, claims: async () => ({ sub: accountId, ...claims }) };
  }

  async #interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(LOG_IN_PAGE);
      return;
    }
    const accountId = new URLSearchParams(await text(request)).get('login') ?? '';
    const result = { login: { accountId } };
    const options = { mergeWithLastSubmission: false };
    await this.#provider.interactionFinished(request, response, result, options);
  }
}

const LOG_IN_PAGE = `<!doctype html><html lang="en"><title>Example provider</title>
<link rel="icon" href="data:,"><h1>Example provider</h1><form method="post">
<label>Account <input name="login"></label><button>Continue</button></form></html>`;
