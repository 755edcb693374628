import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePorts, SaltProcess, waitForPort } from '@brine/testing';
import { packageBeside } from '../python/site.ts';
import type { Lab } from '../transcripts/lab.ts';

/** The web server that salt-api is written for, with what it needs. */
const CHERRYPY = 'cherrypy==18.10.0';
const NEEDS = [
  'backports.tarfile==1.2.0',
  'cheroot==11.1.2',
  'jaraco.collections==5.2.1',
  'jaraco.context==6.1.2',
  'jaraco.functools==4.6.0',
  'jaraco.text==4.3.0',
  'more-itertools==11.2.1',
  'portend==3.2.1',
  'tempora==5.13.0',
  'zc.lockfile==4.0',
];
const JSON_BODY = { 'Content-Type': 'application/json' };
const START_MS = 60_000;
const ANSWER_MS = 60_000;

/** What is asked of salt-api. */
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

/** Salt's own salt-api on the host of a lab's Brine master. */
export class SaltApi {
  readonly #process: SaltProcess;
  readonly #port: number;

  private constructor(process: SaltProcess, port: number) {
    this.#process = process;
    this.#port = port;
  }

  /** Resolves when it takes requests. */
  static async start(lab: Lab): Promise<SaltApi> {
    const packages = await packageBeside(lab.venv, CHERRYPY, NEEDS);
    const [port = 0] = await freePorts(1);
    const configDir = lab.folder('CONF-api');
    await mkdir(configDir);
    const master = await readFile(join(lab.stockConfig, 'master'), 'utf8');
    const web = { host: '127.0.0.1', port, disable_ssl: true, expire_responses: false };
    const lines = [
      `rest_cherrypy: ${JSON.stringify(web)}`,
      `api_logfile: ${lab.folder('api.log')}`,
      `api_pidfile: ${lab.folder('api.pid')}`,
    ];
    await writeFile(join(configDir, 'master'), `${master}${lines.join('\n')}\n`);
    const process = SaltProcess.start({
      command: lab.venv.python,
      args: [lab.venv.bin('salt-api'), '-c', configDir, '-l', 'warning'],
      env: { ...lab.master.sandbox.env(), PYTHONPATH: packages },
      logFile: lab.folder('salt-api.out'),
    });
    try {
      await waitForPort(port, START_MS);
    } catch (error) {
      const log = await process.log();
      await process.stop();
      throw new Error(`salt-api takes no requests: ${log.slice(-3_000)}`, { cause: error });
    }
    return new SaltApi(process, port);
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

  /** Follows its stream of events; `begun` resolves with the head of the answer. */
  async follow(asked: Omit<ApiRequest, 'body' | 'method'>) {
    const answer = await this.#send({ ...asked, method: 'GET', body: null });
    const lines: string[] = [];
    createInterface({ input: answer }).on('line', (line) => lines.push(line));
    answer.on('error', () => undefined);
    /** So many frames as they came, with the line that stands before the first. */
    const frames = (count: number): string | undefined => {
      const ends = lines.flatMap((line, at) => (line === '' ? [at] : []));
      const end = ends[count - 1];
      return end === undefined ? undefined : `${lines.slice(0, end + 1).join('\n')}\n`;
    };
    return { ...headOf(answer), lines, frames, stop: () => void answer.destroy() };
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  log(): Promise<string> {
    return this.#process.log();
  }

  #send({ method, path, headers = {}, body }: ApiRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const length = body ? { 'Content-Length': Buffer.byteLength(body) } : {};
      const place = { host: '127.0.0.1', port: this.#port, method, path, agent: false };
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
