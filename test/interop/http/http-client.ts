import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';

const JSON_BODY = { 'Content-Type': 'application/json' };
const ANSWER_MS = 60_000;

/** What is asked of a server with Salt's HTTP API. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | null;
}

/** What it answers. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A client of Salt's HTTP API on a port of this host: of Brine or of a stock salt-api. */
export class HttpClient {
  readonly port: number;

  constructor(port: number) {
    this.port = port;
  }

  /** Asks once. */
  async ask(asked: ApiRequest): Promise<ApiAnswer> {
    const answer = await this.#send(asked);
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return { ...headOf(answer), body: Buffer.concat(chunks).toString('utf8') };
  }

  /** Logs in; gives the token of the session. */
  async logIn(username: string): Promise<string> {
    const body = JSON.stringify(credentials(username));
    const { body: answer } = await this.ask({
      method: 'POST',
      path: '/login',
      headers: JSON_BODY,
      body,
    });
    return (JSON.parse(answer) as { return: { token: string }[] }).return[0]?.token ?? '';
  }

  /** A token of eauth, as `/run` takes it in its body. */
  async eauthToken(username: string, session: string): Promise<string> {
    const headers = { ...JSON_BODY, 'X-Auth-Token': session };
    const body = JSON.stringify([credentials(username)]);
    const { body: answer } = await this.ask({ method: 'POST', path: '/token', headers, body });
    return (JSON.parse(answer) as { token: string }[])[0]?.token ?? '';
  }

  /** Follows the stream of events; `begun` resolves with the head of the answer. */
  async follow(asked: Omit<ApiRequest, 'body' | 'method'>) {
    const answer = await this.#send({ ...asked, method: 'GET', body: null });
    const lines: string[] = [];
    createInterface({ input: answer }).on('line', (line) => lines.push(line));
    answer.on('error', () => undefined);
    /** The first frames as they came, after the line `retry`; undefined until all are here. */
    const frames = (count: number): string | undefined => {
      const ends = lines.flatMap((line, at) => (line === '' ? [at] : []));
      const end = ends[count - 1];
      return end === undefined ? undefined : `${lines.slice(0, end + 1).join('\n')}\n`;
    };
    return { ...headOf(answer), lines, frames, stop: () => void answer.destroy() };
  }

  #send({ method, path, headers = {}, body }: ApiRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = body ? { 'Content-Length': Buffer.byteLength(body) } : {};
      const place = { host: '127.0.0.1', port: this.port, method, path, agent: false };
      const sent = request({ ...place, headers: { ...headers, ...length } }, resolve);
      sent.setTimeout(ANSWER_MS, () => sent.destroy(new Error(`no answer to ${method} ${path}`)));
      sent.once('error', reject);
      sent.end(body ?? undefined);
    });
  }
}

function credentials(username: string): Readonly<Record<string, string>> {
  return { username, password: 'lab-secret', eauth: 'sharedsecret' };
}

function headOf({ statusCode = 0, headers }: IncomingMessage): Omit<ApiAnswer, 'body'> {
  const flat = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return { status: statusCode, headers: Object.fromEntries(flat) as Record<string, string> };
}
