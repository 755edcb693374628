// Salt's own salt-api on the host of a Brine master: the recorded cases, and its stream of events.
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SaltProcess } from '@brine/testing';
import { growsOld, until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Lab } from '../transcripts/lab.ts';
import { takeTurn } from '../transcripts/one-lab.ts';
import { FIXTURES } from '../transcripts/recorded-cases.ts';
import { type ApiAnswer, type ApiRequest, SaltApi } from './salt-api.ts';
import { python } from './stock-tools.ts';

const COMPARE = fileURLToPath(new URL('./compare-http.py', import.meta.url));
/** For all cases, on a machine three times slower than the one that they were written on. */
const LIMIT_MS = 1_200_000;
const TURN_MS = 5_400_000;
/** How often a case is asked that is not answered as it was recorded. */
const TIMES = 3;

/** A recorded case (test/fixtures/transcripts/README.md). */
interface HttpCase extends ApiAnswer {
  readonly name: string;
  readonly version: string;
  readonly request: ApiRequest;
  readonly login?: string;
  readonly token_in?: 'cookie' | 'body' | 'body-session' | 'none';
  readonly before?: readonly { readonly argv: readonly string[] }[];
  readonly during?: readonly { readonly argv: readonly string[]; readonly delay: number }[];
  readonly after?: readonly { readonly argv: readonly string[] }[];
  readonly pre_http?: readonly ApiRequest[];
  readonly stream?: number;
}

const CASES = (JSON.parse(readFileSync(join(FIXTURES, 'api.json'), 'utf8')) as readonly HttpCase[])
  .filter(({ version }) => version === '3008.2')
  // Streams first: where a case has deleted a key, all minions log in again, which a follower sees.
  .sort((one, other) => Number(other.stream !== undefined) - Number(one.stream !== undefined));

let endTurn: (() => void) | undefined;
let lab: Lab;
let api: SaltApi;

beforeAll(async () => {
  endTurn = await takeTurn();
}, TURN_MS);
beforeAll(async () => {
  // Those of the recording.
  lab = await Lab.start('3008.2', '3006.26');
  api = await SaltApi.start(lab);
}, LIMIT_MS);
afterAll(async () => {
  try {
    await api?.stop();
    await lab?.close();
  } finally {
    endTurn?.();
  }
});

/** Runs a recorded command by Brine's own commands; gives the first jid that it prints. */
async function runWords(argv: readonly string[]): Promise<string> {
  const [program = '', ...words] = argv;
  const args = words.filter((word, at) => word !== '-c' && words[at - 1] !== '-c');
  const command = program === 'salt' ? 'salt' : program.replace('salt-', '');
  const { stdout } = await lab.master.brine(command, args);
  return /(?<!\d)20\d{18}(?!\d)/.exec(stdout)?.[0] ?? '';
}

/** The request with the tokens of a log-in, where the case has one. */
async function prepared({ request, login, token_in: place }: HttpCase): Promise<ApiRequest> {
  if (login === undefined) return request;
  const session = await api.logIn(login);
  const token = place === 'body' ? await api.eauthToken(login, session) : session;
  const headers: Record<string, string> = { ...request.headers };
  if (place === undefined) headers['X-Auth-Token'] = session;
  if (place === 'cookie') headers['Cookie'] = `session_id=${session}`;
  const body = request.body?.replaceAll('{TOKEN}', token) ?? null;
  return { ...request, headers, body, path: request.path.replaceAll('{TOKEN}', token) };
}

async function seenOf(recorded: HttpCase): Promise<ApiAnswer> {
  let jid = '';
  for (const { argv } of recorded.before ?? []) jid = await runWords(argv);
  const asked = await prepared(recorded);
  const sent = { ...asked, path: asked.path.replaceAll('{JID}', jid) };
  for (const first of recorded.pre_http ?? []) {
    await api.ask({ ...first, headers: sent.headers ?? {} });
  }
  const answer =
    recorded.stream === undefined ? await api.ask(sent) : await streamed(recorded, sent);
  for (const { argv } of recorded.after ?? []) {
    const id = argv.at(-1) ?? '';
    if (answer.status === 200) await isFile(id);
    await runWords([...argv]);
    await isNoTarget(id);
  }
  return answer;
}

/** Files of keys follow the record of the cluster a little later; `salt-key -d` deletes files. */
function isFile(id: string): Promise<unknown> {
  const path = join(lab.master.home.pkiDir, 'minions', id);
  return until(`${path} is there`, () => existsSync(path));
}

/** The record follows a deleted file after a second or more; until then a later case targets it. */
function isNoTarget(id: string): Promise<unknown> {
  return until(`${id} is no target`, async () => {
    const { stderr } = await lab.master.brine('salt', ['--preview-target', id]);
    return stderr.includes('No return received');
  });
}

async function streamed(recorded: HttpCase, sent: ApiRequest): Promise<ApiAnswer> {
  const { during = [], stream = 0 } = recorded;
  const follower = await api.follow(sent);
  for (const { argv, delay } of during) {
    await growsOld('the follower before the command', delay * 1_000);
    await runWords(argv);
  }
  const body = await until('the follower has its frames', () => follower.frames(stream));
  follower.stop();
  return { status: follower.status, headers: follower.headers, body };
}

interface Answered {
  readonly recorded: HttpCase;
  readonly seen: ApiAnswer;
}

async function judged(cases: readonly Answered[]): Promise<{ equal: boolean; diff: string }[]> {
  const given = JSON.stringify({ fixtures: FIXTURES, replaced: lab.replaced(), cases });
  const { stdout } = await python(lab.venv, [COMPARE], given, { PYTHONDONTWRITEBYTECODE: '1' });
  return JSON.parse(stdout) as { equal: boolean; diff: string }[];
}

it(
  'each recorded case is answered as by the stock master',
  async () => {
    const cases: Answered[] = [];
    for (const recorded of CASES) {
      await lab.nothingRuns();
      cases.push({ recorded, seen: await seenOf(recorded) });
    }
    const verdicts = await judged(cases);
    // As of the transcripts: what a slow machine did not answer in time is asked again.
    for (const [at, { recorded }] of cases.entries()) {
      for (let time = 1; time < TIMES && verdicts[at]?.equal === false; time += 1) {
        await lab.nothingRuns();
        const [verdict] = await judged([{ recorded, seen: await seenOf(recorded) }]);
        if (verdict !== undefined) verdicts[at] = verdict;
      }
    }
    const equal = verdicts.filter((one) => one.equal).length;
    process.stdout.write(`salt-api: ${equal} of ${cases.length} cases are equal\n`);
    const wrong = verdicts.flatMap((one, at) => {
      const { name = '' } = cases[at]?.recorded ?? {};
      return one.equal ? [] : [`${name}\n${one.diff}`];
    });
    expect(wrong.join('\n\n')).toBe('');
  },
  LIMIT_MS,
);

it('a follower of its events gets what runs, and nothing that a stock master has not', async () => {
  const session = await api.logIn('api');
  const headers = { 'X-Auth-Token': session, 'Content-Type': 'application/json' };
  const follower = await api.follow({ path: '/events', headers });
  await until('the stream has begun', () => follower.lines.includes('retry: 400'));
  const low = [
    { client: 'local', tgt: 'web*', fun: 'test.echo', arg: ['followed'] },
    { client: 'runner', fun: 'test.arg' },
    { client: 'wheel', fun: 'key.list_all' },
  ];
  const body = JSON.stringify(low);
  expect((await api.ask({ method: 'POST', path: '/', headers, body })).status).toBe(200);
  await api.ask({ method: 'POST', path: '/hook/deploy', headers, body: '{"version": "7"}' });
  const tags = (): readonly string[] =>
    follower.lines.flatMap((line) => (line.startsWith('tag: ') ? [line.slice(5)] : []));
  const wanted = [
    /^salt\/job\/\d{20}\/new$/,
    /^salt\/job\/\d{20}\/ret\/web1\.example$/,
    /^salt\/job\/\d{20}\/ret\/web2\.example$/,
    /^salt\/run\/\d{20}\/ret$/,
    /^salt\/wheel\/\d{20}\/ret$/,
    /^salt\/netapi\/hook\/deploy$/,
  ];
  await until('all of it came', () =>
    expect(wanted.filter((tag) => !tags().some((one) => tag.test(one)))).toEqual([]),
  );
  follower.stop();
  expect(tags().filter((tag) => !/^salt\/|^\d{20}$/.test(tag))).toEqual([]);
  const data = follower.lines.flatMap((line) => {
    if (!line.startsWith('data: ')) return [];
    return [JSON.parse(line.slice(6)) as { tag: string; data: Record<string, unknown> }];
  });
  for (const event of data) expect(event.data['_stamp'], event.tag).toMatch(/^\d{4}-\d\d-\d\dT/);
});

/** What sites write: it waits for events by a tag, tells them, and fires one of its own. */
const SCRIPT = `
import json, sys
import salt.config, salt.utils.event

opts = salt.config.client_config(sys.argv[1])
with salt.utils.event.get_master_event(opts, opts["sock_dir"], listen=True) as bus:
    print("listens", flush=True)
    seen = []
    while len(seen) < 3:
        event = bus.get_event(tag="salt/job/", full=True, wait=30)
        if event is None:
            break
        seen.append([event["tag"], event["data"].get("return"), "_stamp" in event["data"]])
    fired = bus.fire_event({"seen": len(seen)}, "site/script/done")
    print(json.dumps([seen, fired]), flush=True)
`;

it('a script with get_master_event sees a job, and its own event is on the bus', async () => {
  const path = lab.folder('listen.py');
  await writeFile(path, SCRIPT);
  const script = SaltProcess.start({
    command: lab.venv.python,
    args: [path, join(lab.stockConfig, 'master')],
    env: lab.master.sandbox.env(),
    logFile: lab.folder('listen.out'),
  });
  await script.waitForLog(/^listens$/m, 60_000);
  const jid = await runWords(['salt', '--show-jid', 'web1.example', 'test.echo', 'heard']);
  await script.exited;
  const [line = ''] = (await script.log()).split('\n').filter((one) => one.startsWith('['));
  expect(JSON.parse(line)).toEqual([
    [
      [`salt/job/${jid}/new`, null, true],
      [`salt/job/${jid}/publish`, null, true],
      [`salt/job/${jid}/ret/web1.example`, 'heard', true],
    ],
    true,
  ]);
  const shown = await until('its event is on the bus of the cluster', async () => {
    const args = ['--no-follow', '--json', '--from', '10m', '--tag', 'site/script/*'];
    const { stdout } = await lab.master.brine('events', args);
    return stdout === '' ? undefined : stdout;
  });
  expect(JSON.parse(shown)).toMatchObject({ tag: 'site/script/done', data: { seen: 3 } });
});
