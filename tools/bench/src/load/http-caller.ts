import { Agent, request } from 'node:http';

/** The user with all rights, and its password. */
export const HTTP_USER = 'bench';
export const HTTP_PASSWORD = 'bench-secret';
const ANSWER_MS = 120_000;

/** What a master needs to serve the HTTP API on this port of loopback. */
export function httpConfig(
  port: number,
  users: readonly string[] = [HTTP_USER],
): Readonly<Record<string, unknown>> {
  const rights = ['.*', '@runner', '@wheel', '@jobs'];
  return {
    sharedsecret: HTTP_PASSWORD,
    external_auth: { sharedsecret: Object.fromEntries(users.map((user) => [user, rights])) },
    netapi_enable_clients: ['local', 'local_async', 'runner', 'wheel'],
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true, expire_responses: false },
  };
}

/** What a server answered. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** A client of the HTTP API; its connections stay open, as those of pepper's sessions do. */
export class HttpCaller {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true });
  #token = '';

  private constructor(port: number) {
    this.#port = port;
  }

  /** Logs in. @throws Error if that is refused */
  static async open(port: number, username = HTTP_USER): Promise<HttpCaller> {
    const caller = new HttpCaller(port);
    const login = { username, password: HTTP_PASSWORD, eauth: 'sharedsecret' };
    const { status, body } = await caller.ask('POST', '/login', login);
    if (status !== 200) throw new Error(`no log-in: ${status} ${body.slice(0, 200)}`);
    caller.#token = (JSON.parse(body) as LogIn).return[0]?.token ?? '';
    return caller;
  }

  /** The token of the session. */
  get token(): string {
    return this.#token;
  }

  /** Runs one lowstate; gives the text of the answer. @throws Error for another status than 200 */
  async call(low: Readonly<Record<string, unknown>>): Promise<string> {
    const { status, body } = await this.ask('POST', '/', [low]);
    if (status !== 200) throw new Error(`${status}: ${body.slice(0, 200)}`);
    return body;
  }

  /** Sends one request. */
  ask(method: string, path: string, value?: unknown): Promise<HttpAnswer> {
    const text = value === undefined ? '' : JSON.stringify(value);
    const headers = {
      ...(value === undefined ? {} : { 'Content-Type': 'application/json' }),
      'Content-Length': Buffer.byteLength(text),
      'X-Auth-Token': this.#token,
    };
    const options = { host: '127.0.0.1', port: this.#port, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const sent = request({ ...options, method, path, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        );
      });
      sent.setTimeout(ANSWER_MS, () => sent.destroy(new Error(`no answer to ${method} ${path}`)));
      sent.on('error', reject);
      sent.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

interface LogIn {
  readonly return: readonly { readonly token: string }[];
}
