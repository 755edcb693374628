import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { growsOld, until } from '@brine/testing/waits';
import { python } from '../stock-tools/stock-tools.ts';
import type { Lab } from '../transcripts/lab.ts';
import { FIXTURES } from '../transcripts/recorded-cases.ts';
import type { ApiAnswer, ApiRequest, HttpClient } from './http-client.ts';

const COMPARE = fileURLToPath(new URL('./compare-http.py', import.meta.url));
/** How often a case is asked that is not answered as it was recorded. */
const TIMES = 3;

/** A request with what happens around it (test/fixtures/transcripts/README.md). */
export interface AskedCase {
  readonly name: string;
  readonly request: ApiRequest;
  readonly login?: string;
  readonly token_in?: 'cookie' | 'body' | 'body-session' | 'none';
  readonly before?: readonly { readonly argv: readonly string[] }[];
  readonly during?: readonly { readonly argv: readonly string[]; readonly delay: number }[];
  readonly after?: readonly { readonly argv: readonly string[] }[];
  readonly pre_http?: readonly ApiRequest[];
  readonly stream?: number;
  /** The part of the body that is compared. */
  readonly trim?: string;
  readonly hide_fingers?: boolean;
}

/** A recorded case: a request and its answer. */
export interface HttpCase extends AskedCase, ApiAnswer {
  readonly version: string;
}

/** An answer, and the one that is wanted. */
export interface Answered {
  readonly recorded: AskedCase & ApiAnswer;
  readonly seen: ApiAnswer;
}

/** Whether a case was answered as it was recorded, and what differs. */
export interface HttpVerdict {
  readonly name: string;
  readonly equal: boolean;
  readonly diff: string;
}

/** The recorded cases of a release, streams first. */
export function httpCases(release: string): readonly HttpCase[] {
  const all = JSON.parse(readFileSync(join(FIXTURES, 'api.json'), 'utf8')) as readonly HttpCase[];
  return (
    all
      .filter(({ version }) => version === release)
      // Where a case has deleted a key, all minions log in again, which a follower sees.
      .sort((one, other) => Number(other.stream !== undefined) - Number(one.stream !== undefined))
  );
}

/** Asks the recorded cases of a server that works for a lab's master. */
export class HttpCases {
  readonly #lab: Lab;
  readonly #http: HttpClient;

  constructor(lab: Lab, http: HttpClient) {
    this.#lab = lab;
    this.#http = http;
  }

  /**
   * Asks these cases and compares. What a slow machine did not answer in time is asked again.
   * @param expected the names of cases that will differ
   */
  async judge(
    cases: readonly HttpCase[],
    expected: ReadonlySet<string> = new Set(),
  ): Promise<readonly HttpVerdict[]> {
    const answered: Answered[] = [];
    for (const recorded of cases) {
      await this.#lab.nothingRuns();
      answered.push({ recorded, seen: await this.answer(recorded) });
    }
    const verdicts = await this.compare(answered);
    for (const [at, recorded] of cases.entries()) {
      if (expected.has(recorded.name)) continue;
      for (let time = 1; time < TIMES && verdicts[at]?.equal === false; time += 1) {
        await this.#lab.nothingRuns();
        const [verdict] = await this.compare([{ recorded, seen: await this.answer(recorded) }]);
        if (verdict !== undefined) verdicts[at] = verdict;
      }
    }
    return verdicts;
  }

  /** Runs a recorded command by Brine's own commands; gives the first jid that it prints. */
  async runWords(argv: readonly string[]): Promise<string> {
    const [program = '', ...words] = argv;
    const args = words.filter((word, at) => word !== '-c' && words[at - 1] !== '-c');
    const command = program === 'salt' ? 'salt' : program.replace('salt-', '');
    const { stdout } = await this.#lab.master.brine(command, args);
    return /(?<!\d)20\d{18}(?!\d)/.exec(stdout)?.[0] ?? '';
  }

  /** Asks one case. */
  async answer(recorded: AskedCase): Promise<ApiAnswer> {
    let jid = '';
    for (const { argv } of recorded.before ?? []) jid = await this.runWords(argv);
    const asked = await this.#prepared(recorded);
    const sent = { ...asked, path: asked.path.replaceAll('{JID}', jid) };
    for (const first of recorded.pre_http ?? []) {
      await this.#http.ask({ ...first, headers: sent.headers ?? {} });
    }
    const isStream = recorded.stream !== undefined;
    const answer = isStream ? await this.#streamed(recorded, sent) : await this.#http.ask(sent);
    for (const { argv } of recorded.after ?? []) {
      const id = argv.at(-1) ?? '';
      if (answer.status === 200) await this.#isFile(id);
      await this.runWords([...argv]);
      await this.#isNoTarget(id);
    }
    return answer;
  }

  /** The request with the tokens of a log-in, where the case has one. */
  async #prepared({ request, login, token_in: place }: AskedCase): Promise<ApiRequest> {
    if (login === undefined) return request;
    const session = await this.#http.logIn(login);
    const token = place === 'body' ? await this.#http.eauthToken(login, session) : session;
    const headers: Record<string, string> = { ...request.headers };
    if (place === undefined) headers['X-Auth-Token'] = session;
    if (place === 'cookie') headers['Cookie'] = `session_id=${session}`;
    const body = request.body?.replaceAll('{TOKEN}', token) ?? null;
    return { ...request, headers, body, path: request.path.replaceAll('{TOKEN}', token) };
  }

  /** Files of keys follow the record of the cluster a little later; `salt-key -d` deletes files. */
  #isFile(id: string): Promise<unknown> {
    const path = join(this.#lab.master.home.pkiDir, 'minions', id);
    return until(`${path} is there`, () => existsSync(path));
  }

  /** The record follows a deleted file a second later; until then a later case targets it. */
  #isNoTarget(id: string): Promise<unknown> {
    return until(`${id} is no target`, async () => {
      const { stderr } = await this.#lab.master.brine('salt', ['--preview-target', id]);
      return stderr.includes('No return received');
    });
  }

  async #streamed(recorded: AskedCase, sent: ApiRequest): Promise<ApiAnswer> {
    const { during = [], stream = 0 } = recorded;
    const follower = await this.#http.follow(sent);
    for (const { argv, delay } of during) {
      await growsOld('the follower before the command', delay * 1_000);
      await this.runWords(argv);
    }
    const body = await until('the follower has its frames', () => follower.frames(stream));
    follower.stop();
    return { status: follower.status, headers: follower.headers, body };
  }

  /** Compares answers with those of the stock salt-api. */
  async compare(cases: readonly Answered[]): Promise<HttpVerdict[]> {
    const given = JSON.stringify({ fixtures: FIXTURES, replaced: this.#lab.replaced(), cases });
    const env = { PYTHONDONTWRITEBYTECODE: '1' };
    const { stdout } = await python(this.#lab.venv, [COMPARE], given, env);
    const verdicts = JSON.parse(stdout) as Omit<HttpVerdict, 'name'>[];
    return verdicts.map((one, at) => ({ name: cases[at]?.recorded.name ?? '', ...one }));
  }
}
