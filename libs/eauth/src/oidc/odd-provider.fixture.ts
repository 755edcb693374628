import { createHmac, generateKeyPairSync } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignJWT } from 'jose';

/** What a provider answers instead of what is right. */
export interface Oddness {
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Claims that replace the right ones; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Makes the ID token from its claims. */
  readonly sign?: (claims: Readonly<Record<string, unknown>>) => string | Promise<string>;
  /** Serves a path itself. */
  readonly serve?: Readonly<Record<string, (response: ServerResponse) => void>>;
}

const KEYS = generateKeyPairSync('rsa', { modulusLength: 2_048 });
/** Of keys that are not published. */
const STRANGE = generateKeyPairSync('rsa', { modulusLength: 2_048 });

/** A provider that answers as a test wants: for attacks that a real one does not make. */
export class OddProvider {
  oddness: Oddness = {};
  /** The paths that were asked for. */
  readonly asked: string[] = [];
  readonly issuer: string;
  readonly #server: Server;
  #nonce = '';

  private constructor(server: Server) {
    this.#server = server;
    this.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', ({ url = '' }, response: ServerResponse) => {
      const [path = ''] = url.split('?');
      this.asked.push(path);
      const own = this.oddness.serve?.[path];
      if (own === undefined) void this.#answer(path, response);
      else own(response);
    });
  }

  static async start(): Promise<OddProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new OddProvider(server);
  }

  /** The query that it sends a browser back with. */
  comeBack(address: string, more: Readonly<Record<string, string>> = {}): string {
    const { searchParams } = new URL(address);
    this.#nonce = searchParams.get('nonce') ?? '';
    const state = searchParams.get('state') ?? '';
    return String(new URLSearchParams({ code: 'a-code', state, ...more }));
  }

  /** The right signature, or that of a key which is not published. */
  signed(
    claims: Readonly<Record<string, unknown>>,
    by: 'own' | 'strange' = 'own',
  ): Promise<string> {
    const { privateKey } = by === 'own' ? KEYS : STRANGE;
    return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
  }

  /** A token whose header has another algorithm; HS256 is signed with the public key as secret. */
  unsigned(claims: Readonly<Record<string, unknown>>, alg: 'none' | 'HS256'): string {
    const part = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString('base64url');
    const body = `${part({ alg })}.${part(claims)}`;
    if (alg === 'none') return `${body}.`;
    const pem = KEYS.publicKey.export({
      type: 'spki',
      format: 'pem',
    });
    return `${body}.${createHmac('sha256', pem).update(body).digest('base64url')}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(path: string, response: ServerResponse): Promise<void> {
    const send = (value: object): void => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify(value));
    };
    switch (path) {
      case '/.well-known/openid-configuration':
        return send({
          issuer: this.issuer,
          authorization_endpoint: `${this.issuer}/auth`,
          token_endpoint: `${this.issuer}/token`,
          jwks_uri: `${this.issuer}/jwks`,
          ...this.oddness.metadata,
        });
      case '/jwks':
        return send({ keys: [{ ...KEYS.publicKey.export({ format: 'jwk' }), use: 'sig' }] });
      case '/token': {
        const now = Math.floor(Date.now() / 1_000);
        const claims = Object.fromEntries(
          Object.entries({
            iss: this.issuer,
            aud: 'brine',
            sub: 'anne',
            iat: now,
            exp: now + 300,
            nonce: this.#nonce,
            ...this.oddness.claims,
          }).filter(([, value]) => value !== undefined),
        );
        const sign = this.oddness.sign ?? ((given) => this.signed(given));
        return send({
          access_token: 'none-of-ours',
          token_type: 'Bearer',
          id_token: await sign(claims),
        });
      }
      default:
        response.writeHead(404).end();
    }
  }
}
