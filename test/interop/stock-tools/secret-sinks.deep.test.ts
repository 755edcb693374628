import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { freePorts } from '@brine/testing';
import {
  type AllowedPlace,
  EventRecord,
  filesBelow,
  foundLines,
  searchSinks,
  type SinkContent,
  type SinkSearch,
} from '@brine/testing/sinks';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RELEASE, SecretCalls } from './secret-calls.ts';
import { StockCli } from './stock-cli.ts';

/** What has jobs with their data: events, streams, tables, job files, what engines are sent. */
const JOB_DATA = new RegExp(
  [
    '^(event (salt/(job|run)/|my/)|web server |file events.jsonl$)',
    '^stream (EVENTS|PUBLICATIONS) ',
    '^table (brine\\.(jobs|returns)(_\\d+)?\\.|public\\.salt_events\\.data)',
    '^file master/cache/(jobs/|brine/nats/jetstream/|brine/postgres/data/)',
    '^backup file (streams/(EVENTS|PUBLICATIONS)|tables/(brine\\.(jobs|returns)|public))',
  ].join('|'),
);

/*
 * Everything that carries a secret is run, then all that a master writes is searched for it.
 */

/** Where secrets may be, and why. Every other place is a leak. */
const ALLOWED: readonly AllowedPlace[] = [
  {
    sinks: /^file users$/,
    secrets: /^password (anne|tom)$/,
    why: 'the file of `external_auth: file`, written by this test',
  },
  {
    sinks: /^file master\/cache\/\.root_key$/,
    secrets: /^local key \.root_key$/,
    why: 'the key file itself',
  },
  {
    sinks: /^file master\/cache\/\.nobody_key$/,
    secrets: /^local key \.nobody_key$/,
    why: 'the key file itself, which belongs to that user',
  },
  {
    sinks: /^file home\/salt_token$/,
    secrets: /^token of salt -T$/,
    why: 'the file of `salt -T`, in the home of the user who ran it',
  },
  {
    sinks: /^(backup )?file (master|files)\/pki\/master\.pem$/,
    secrets: /^master key:/,
    why: "the master's key, and a backup, which has to hold it",
  },
  {
    sinks: /^(backup )?file (master|files)\/pki\/\w+\.pem$/,
    secrets: /^master key:/,
    why: '3008 names the pair by the id of the master, and so a master has it under both names',
  },
  {
    sinks: /^file master\/cache\/brine\/nats\/(credentials\.json|nats\.conf)$/,
    secrets: /^NATS user /,
    why: 'the passwords of NATS, and the file that the server reads them from',
  },
  {
    sinks: /^file master\/cache\/brine\/postgres\/password$/,
    secrets: /^PostgreSQL$/,
    why: 'the password of PostgreSQL, which has a digest of it alone',
  },
  {
    sinks: /^event salt\/run\/\d{20}\/ret$/,
    secrets: /^token (of brine run|of salt-run -a|token by runner)/,
    why: 'the command that made the token waits for it at the socket, where the master fires it',
  },
  {
    sinks: JOB_DATA,
    secrets: /^argument plain$/,
    why: 'arguments and returns of functions that take no secrets are data of jobs',
  },
];

let cli: StockCli;
let calls: SecretCalls;
let server: Server;
let record: EventRecord;
let dir = '';
let metricsPort = 0;
let search: SinkSearch;
/** What web servers of the site were sent, by their path. */
const posted: SinkContent[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-sinks-'));
  const users = join(dir, 'users');
  await writeFile(users, SecretCalls.users(), { mode: 0o600 });
  // Reads a password as the real one does, and lets nobody in.
  const pamProgram = join(dir, 'pamtester');
  await writeFile(pamProgram, '#!/bin/sh\ncat >/dev/null\nexit 1\n', { mode: 0o700 });
  [metricsPort = 0] = await freePorts(1);
  server = createServer((request, response) => {
    void buffer(request).then((bytes) => {
      posted.push({ sink: `web server ${request.url}`, bytes });
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const anybody = ['.*', '@runner', '@wheel', '@jobs'];
  cli = await StockCli.start([RELEASE], {
    master: {
      auto_accept: true,
      log_file: 'log/master',
      log_level_logfile: 'all',
      external_auth: {
        file: { '^filename': users, anne: anybody, tom: anybody },
        pam: { nobody: ['test.*'] },
        auto: { any: ['test.*'] },
      },
      publisher_acl: { nobody: ['test.*'] },
      peer: { '.*': ['test.*'] },
      peer_run: { '.*': ['test.*'] },
      reactor: [{ 'lab/*': ['/srv/lab.sls'] }],
      event_return: ['rawfile_json', 'pgjsonb', 'http'],
      'rawfile_json.filename': join(dir, 'events.jsonl'),
      // Stock tools look for an engine of this name; workers have it.
      engines: ['reactor', { http_logstash: { url: `${url}/engine` } }],
      netapi_enable_clients: ['local', 'local_async', 'runner', 'wheel'],
    },
    brine: {
      trace: 'all',
      eauth: { pam_program: pamProgram },
      metrics: { port: metricsPort },
      testing: { eauth_auto: true },
      event_http: { url: `${url}/returner` },
    },
  });
  record = await EventRecord.open(cli.master);
  calls = new SecretCalls(cli);
  await calls.run();
  // Behind all others on each way: when it is there, they are.
  await cli.master.brine('run', ['event.send', 'my/last']);
  const isLast = ({ bytes, sink }: SinkContent, path: string): boolean =>
    sink === `web server ${path}` && Buffer.from(bytes).includes('my/last');
  await until('the last event is at every reader', () => {
    expect(record.events.some(({ tag }) => tag === 'my/last')).toBe(true);
    expect(posted.some((one) => isLast(one, '/returner'))).toBe(true);
    return true;
  });
  search = await searchSinks(cli.master, calls.secrets(), { allow: ALLOWED, more: outside() });
}, 900_000);
afterAll(async () => {
  record?.[Symbol.dispose]();
  await cli?.master.close();
  await new Promise((resolve) => server.close(resolve));
  await rm(dir, { recursive: true });
});

/** What the test itself was given. */
async function* outside(): AsyncGenerator<SinkContent> {
  for (const { tag, packed } of record.events) {
    yield { sink: `event ${tag}`, bytes: Buffer.concat([Buffer.from(`${tag}\n`), packed]) };
  }
  yield* posted;
  for (const accept of ['text/plain', 'application/openmetrics-text']) {
    const url = `http://127.0.0.1:${metricsPort}/metrics`;
    const text = await (await fetch(url, { headers: { accept } })).text();
    yield { sink: `metrics as ${accept}`, bytes: Buffer.from(text) };
  }
  yield* filesBelow(dir);
}

/** Calls that must be refused; all others must not be. */
const REFUSED = /wrong|refused|pam|unknown/;

it('the calls came through, and those with wrong passwords did not', () => {
  const failed = [...calls.outcomes].flatMap(([name, outcome]) => {
    const text = JSON.stringify(outcome);
    const isRefused = /Authentication (error|failure)|not available|^""$/.test(text);
    const isOdd = /[Ee]xception|Usage:|Traceback|"error":/.test(text);
    return isRefused !== REFUSED.test(name) || (isOdd && !isRefused) ? [`${name}: ${text}`] : [];
  });
  expect(failed.map((text) => text.slice(0, 300))).toEqual([]);
  // A token of each way, two keys of minions, and both keys of local users.
  const names = calls.secrets().map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('token '))).toHaveLength(10);
  expect(names).toEqual(expect.arrayContaining(['key made', 'key made locally']));
  expect(names).toEqual(expect.arrayContaining(['local key .root_key', 'local key .nobody_key']));
});

it('no secret is where it does not belong', () => {
  expect(foundLines(search.leaks)).toEqual([]);
});

it('the search saw every kind of sink, and each secret that has a place', () => {
  const kinds = [...search.searched.keys()];
  expect(kinds).toEqual(
    expect.arrayContaining([
      ...['event', 'file', 'web server', 'metrics as', 'command line', 'brine status'],
      ...['support-bundle file', 'backup file', 'table brine.jobs.load', 'table brine.audit.body'],
      ...['table public.salt_events.data', 'stream EVENTS', 'stream PUBLICATIONS'],
      ...['stream KV_brine_tokens', 'stream KV_brine_secrets', 'stream KV_brine_runs'],
    ]),
  );
  // Each place of the table is one where a secret really is.
  const idle = ALLOWED.filter(
    ({ sinks, secrets }) =>
      !search.allowed.some(({ sink, secret }) => sinks.test(sink) && secrets.test(secret)),
  );
  expect(idle.map(({ why }) => why)).toEqual([]);
});
