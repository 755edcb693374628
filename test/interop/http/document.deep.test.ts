// The document of `/v1` against a whole master: schemathesis as each kind of user.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, freePorts } from '@brine/testing';
import { pythonWith } from '@brine/testing/packages';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RIGHTS_USERS, type RightsUser, STREAMS } from '../../../libs/netapi/test/rights-of-v1.ts';

const PASSWORD = 'shared';
/** Seconds of a longer run of each user; without it, some examples for each operation. */
const SECONDS = process.env['BRINE_SCHEMATHESIS_SECONDS'];
const AMOUNT = SECONDS === undefined ? ['--max-examples', '5'] : ['--max-time', SECONDS];
const LOG_OUT = 'DELETE /v1/session';

/** Statuses that a request may have which fits the document, beside those that all may have. */
const REFUSED: readonly (readonly [why: string, statuses: readonly number[], readonly string[]])[] =
  [
    ['a time is a text in one of several forms', [400, 410], ['GET /v1/events']],
    ['a time is a text in one of two forms', [400], ['GET /v1/jobs/{jid}']],
    [
      'a function of the master may refuse its arguments',
      [400, 422],
      ['POST /v1/reactor/act', 'POST /v1/schedule/act', 'GET /v1/audit', 'POST /v1/runs'],
    ],
    ['topics are a text with names in it', [400], ['GET /v1/stream']],
    ['a load is bytes of msgpack', [400], ['POST /v1/commands/requests']],
    [
      'a target may name what is not configured, or match no minion',
      [400, 422],
      [
        'POST /v1/targets/resolve',
        'POST /v1/jobs',
        'POST /v1/jobs/{jid}/rerun',
        'POST /v1/jobs/{jid}/signal',
      ],
    ],
  ];

let master: BrineMaster;
let base = '';
let program = '';
/** Operations with a cursor, which is opaque, and of one list. */
let lists: readonly string[] = [];

beforeAll(async () => {
  program = await pythonWith('schemathesis==4.32.5');
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  master = await BrineMaster.start({
    auto_accept: true,
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: RIGHTS_USERS },
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true },
  });
  lists = await listsOf(`${base}/v1/openapi.json`);
  for (const id of ['web1', 'db1']) await master.startMinion(id);
  await master.waitForMinions(['web1', 'db1']);
}, 300_000);
afterAll(() => master?.close());

interface Document {
  readonly paths: Record<string, Record<string, { readonly parameters?: { name: string }[] }>>;
}

async function listsOf(address: string): Promise<string[]> {
  const { paths } = (await (await fetch(address)).json()) as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
      parameters.some(({ name }) => name === 'after') ? [`${method.toUpperCase()} ${path}`] : [],
    ),
  );
}

/** The statuses by which each operation may refuse what fits the document. */
function refusals(): ReadonlyMap<string, ReadonlySet<number>> {
  const found = new Map<string, Set<number>>();
  for (const [, statuses, names] of [...REFUSED, ['a cursor', [400], lists] as const]) {
    for (const name of names) {
      found.set(name, new Set([...(found.get(name) ?? []), ...statuses]));
    }
  }
  return found;
}

async function logIn(username: RightsUser): Promise<string> {
  const answer = await fetch(`${base}/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username, password: PASSWORD, eauth: 'sharedsecret' }),
  });
  return answer.headers.get('x-auth-token') ?? '';
}

/** The configuration of a run. Its log-in is as the document names it: probes leave it out. */
function configuration(token: string): string {
  const usual = ['2xx', '401', '403', '404', '409', '503'];
  return [
    'seed = 1',
    'continue-on-failure = true',
    'request-timeout = 20',
    '[auth.openapi.bearer]',
    `bearer = ${JSON.stringify(token)}`,
    ...[...refusals()].flatMap(([name, statuses]) => [
      '[[operations]]',
      `include-name = ${JSON.stringify(name)}`,
      `checks.positive_data_acceptance.expected-statuses = ${JSON.stringify([
        ...usual,
        ...[...statuses].map(String),
      ])}`,
    ]),
    // A stream has no end: its first messages are read.
    '[[operations]]',
    `include-name = ${JSON.stringify(STREAMS)}`,
    'max-stream-events = 1',
    'request-timeout = 1',
    // A method that is not in the document is tried; here one that is left out would log out.
    '[[operations]]',
    'include-path = "/v1/session"',
    'phases.coverage.unexpected-methods = ["PUT", "PATCH", "TRACE", "QUERY"]',
  ].join('\n');
}

interface Ran {
  readonly code: number | null;
  readonly text: string;
}

/** Runs schemathesis with a log-in of its own; resolves with its exit code and what it printed. */
async function fuzz(name: string, user: RightsUser, args: readonly string[]): Promise<Ran> {
  const dir = join(master.sandbox.dir, `schemathesis-${name}`);
  await mkdir(dir);
  const config = join(dir, 'schemathesis.toml');
  await writeFile(config, `${configuration(await logIn(user))}\n`);
  const common = ['--config-file', config, 'run', `${base}/v1/openapi.json`, '--checks', 'all'];
  const started = spawn(
    program,
    ['-m', 'schemathesis.cli', ...common, '--no-color', ...AMOUNT, ...args],
    { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let text = '';
  for (const stream of [started.stdout, started.stderr]) {
    stream.on('data', (part: Buffer) => (text += part.toString()));
  }
  const [code] = (await once(started, 'close')) as [number | null];
  return { code, text };
}

/** True if a phase ran to its end, and found nothing. */
function ranIn(phase: string, text: string): boolean {
  return new RegExp(`✅ +${phase} \\(`).test(text);
}

describe.concurrent('schemathesis finds nothing', () => {
  test.for(Object.keys(RIGHTS_USERS) as RightsUser[])(
    'as %s, in single requests and in sequences of them',
    { timeout: 900_000 },
    async (user) => {
      const { code, text } = await fuzz(user, user, ['--exclude-name', LOG_OUT]);
      expect({ code, text }).toMatchObject({ code: 0 });
      for (const phase of ['Coverage', 'Fuzzing', 'Stateful']) {
        expect({ phase, ran: ranIn(phase, text), text }).toMatchObject({ ran: true });
      }
    },
  );

  test('at the log-out, which ends its own log-in', { timeout: 300_000 }, async () => {
    const only = ['--include-name', LOG_OUT, '--phases', 'coverage,fuzzing'];
    const { code, text } = await fuzz('log-out', 'webs', only);
    expect({ code, text }).toMatchObject({ code: 0 });
  });
});
