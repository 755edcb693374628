// Servers that are away, busy, of others, or not what they claim to be.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueCertificate, makeAuthority } from '@brine/crypt';
import { freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { printedBy } from '../printed.fixture.ts';
import type { Terminal } from '../terminal.ts';
import { ApiConnection } from './api-connection.ts';
import { ApiRefusedError, ApiUnreachableError } from './api-errors.ts';
import { eventsByApi } from './api-master.ts';
import { logIn } from './log-in.ts';
import { changeSessions, sessionFile } from './session-file.ts';

const GET = { method: 'GET', path: '/me', timeoutMs: 5_000 } as const;
const PROBLEM = { 'content-type': 'application/problem+json' };

let home = '';
const opened: { close(): void }[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'connection-'));
  vi.stubEnv('XDG_CONFIG_HOME', home);
});
afterEach(() => {
  for (const one of opened.splice(0)) one.close();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

async function listening(server: Server & { closeAllConnections(): void }): Promise<number> {
  opened.push({
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function serve(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(createServer(answer))}`;
}

function connect(url: string, ca?: string): ApiConnection {
  const api = new ApiConnection(url, ca, 'abc');
  opened.push(api);
  return api;
}

const failure = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('it did not fail'),
    (error: unknown) => error as Error,
  );

describe('a request', () => {
  test('that finds no room is sent again after the pause that the API asks for', async () => {
    let count = 0;
    const url = await serve((_request, answer) => {
      count += 1;
      if (count < 3) answer.writeHead(503, { 'Retry-After': '0' }).end();
      else answer.writeHead(200, { 'content-type': 'application/json' }).end('{"a": 1}');
    });
    expect((await connect(url).ask(GET)).json).toEqual({ a: 1 });
    expect(count).toBe(3);
  });

  test('ends with the reason when its time is up', async () => {
    const busy = { code: 'too-many', title: 'Too many requests are in hand' };
    const url = await serve((_request, answer) => {
      answer.writeHead(503, { ...PROBLEM, 'Retry-After': '5' }).end(JSON.stringify(busy));
    });
    const error = await failure(connect(url).ask({ ...GET, timeoutMs: 300 }));
    expect(error).toBeInstanceOf(ApiRefusedError);
    expect(error).toMatchObject({ status: 503, code: 'too-many', message: busy.title });
  });

  test('is sent again while the API restarts', async () => {
    const [port = 0] = await freePorts(1);
    const asked = connect(`http://127.0.0.1:${port}`).ask(GET);
    const server = createServer((_request, answer) => answer.end('{}'));
    opened.push(server);
    server.listen(port, '127.0.0.1');
    expect((await asked).json).toEqual({});
  });

  test('names an address at which nothing listens', async () => {
    const [port = 0] = await freePorts(1);
    const error = await failure(
      connect(`http://127.0.0.1:${port}`).ask({ ...GET, timeoutMs: 300 }),
    );
    expect(error).toBeInstanceOf(ApiUnreachableError);
    expect(error.message).toContain(`http://127.0.0.1:${port} can not be reached`);
    expect(error.message).toContain('ECONNREFUSED');
  });

  test.each([
    ['a page', 404, 'text/html', '<h1>no</h1>', 'status 404'],
    ['a redirection', 302, 'text/html', '', 'status 302'],
    ['no JSON', 200, 'text/html', '<h1>yes</h1>', 'no JSON'],
    ['a problem that is no JSON', 400, 'application/problem+json', '{', 'no JSON'],
  ])('is answered with %s: no API of Brine', async (_, status, type, body, why) => {
    const seen: string[] = [];
    const url = await serve((request, answer) => {
      seen.push(request.url ?? '');
      answer.writeHead(status, { 'content-type': type, location: '/elsewhere' }).end(body);
    });
    const error = await failure(connect(url).ask(GET));
    expect(error).toBeInstanceOf(ApiUnreachableError);
    expect(error.message).toContain(why);
    // A redirection could lead the token to another server.
    expect(seen).toEqual(['/v1/me']);
  });

  test('ends when no answer comes in time', async () => {
    const url = await serve(() => undefined);
    const error = await failure(connect(url).ask({ ...GET, timeoutMs: 200 }));
    expect(error.message).toContain('no answer in time');
  });
});

test('a certificate counts only with its CA, which --ca gives', async () => {
  const from = Date.now() - 1_000;
  const validity = { from, until: from + 86_400_000 };
  const authority = await makeAuthority('a site', { from, until: from + 172_800_000 });
  const subject = { name: 'localhost', use: 'server' } as const;
  const made = await issueCertificate(authority, subject, validity);
  const seen: (string | undefined)[] = [];
  const port = await listening(
    createTlsServer({ cert: made.certificate, key: made.key }, (request, answer) => {
      seen.push(request.headers.authorization);
      answer.end('{}');
    }),
  );
  const url = `https://localhost:${port}`;
  const error = await failure(connect(url).ask(GET));
  expect(error.message).toContain('--ca FILE');
  expect(seen).toEqual([]);
  const ca = join(home, 'ca.pem');
  writeFileSync(ca, authority.certificate);
  expect((await connect(url, ca).ask(GET)).json).toEqual({});
  expect(seen).toEqual(['Bearer abc']);
  // The right CA, and the name of another host.
  const other = await failure(connect(`https://127.0.0.1:${port}`, ca).ask(GET));
  expect(other).toBeInstanceOf(ApiUnreachableError);
  expect(seen).toHaveLength(1);
});

test.each([
  ['session_id=00ff; Path=/', '00ff'],
  ['__Host-session_id=00ff; Path=/; Secure', '00ff'],
  ['session_id=; Path=/', undefined],
  ['other=00ff', undefined],
])('a log-in takes its session from the cookie %s', async (cookie, token) => {
  const url = await serve((_request, answer) => {
    answer.writeHead(201, { 'content-type': 'application/json', 'set-cookie': cookie });
    answer.end('{"principal": "alice", "expires": "2026-11-30T09:15:00.250000Z"}');
  });
  const asked = logIn(connect(url), { username: 'alice', password: 'x', eauth: 'pam' });
  if (token === undefined) expect((await failure(asked)).message).toContain('gave no session');
  else expect(await asked).toMatchObject({ token, user: 'alice', eauth: 'pam' });
});

test('a stream that breaks is opened again, and what the API dropped is named', async () => {
  let count = 0;
  const url = await serve((_request, answer) => {
    count += 1;
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (tag: string, data: Readonly<Record<string, number>>): string =>
      `data: ${pack([tag, mapOf(data)], 'bin').toString('base64')}\n\n`;
    answer.write(`retry: 400\n${event(`site/${count}`, {})}`);
    if (count === 1) void setImmediate(() => answer.destroy());
    else answer.write(`:\n\n${event('brine/netapi/dropped', { dropped: 7 })}data: AA\n\n`);
  });
  const printed = { err: '' };
  const terminal = { err: (text: string) => void (printed.err += text) } as Terminal;
  const tags: string[] = [];
  const stream = await eventsByApi(connect(url), 'all', (tag) => void tags.push(tag), terminal);
  await until('both streams came', () => printed.err.includes('can not be read'));
  stream.close();
  expect(printed.err).toContain('7 events were missed');
  expect(tags.at(-1)).toBe('site/2');
  expect(printed.err).toContain('an event of the API can not be read');
  expect(printed.err).toContain('the connection for events was lost');
});

describe('a command', () => {
  const stored = (url: string): Promise<void> =>
    changeSessions(sessionFile(), () => ({
      last: url,
      sessions: {
        [url]: { token: 'abc', user: 'a', eauth: 'pam', expires: '2999-01-01T00:00:00.000000Z' },
      },
    }));
  const problem = (status: number, code: string): RequestListener => {
    const body = JSON.stringify({ code, title: `Title of ${code}` });
    return (_request, answer) => void answer.writeHead(status, PROBLEM).end(body);
  };

  test.each([
    [['salt', '*', 'test.ping'], 2],
    [['key', '-L'], 2],
    [['run', 'manage.up'], 2],
    [['events', '--no-follow'], 1],
    [['status'], 1],
    [['top', '--once'], 1],
    [['trace', '20261130000000000000'], 1],
  ])('%j with a session that has ended exits with %i', async (words, code) => {
    const url = await serve(problem(401, 'not-logged-in'));
    await stored(url);
    const err = `brine: The session at ${url} has ended: log in with \`brine login ${url}\`.\n`;
    expect(await printedBy(['--api', ...words])).toEqual({ code, out: '', err });
  });

  test('exits as a stock one with BRINE_EXIT_CODES', async () => {
    const url = await serve(problem(401, 'not-logged-in'));
    await stored(url);
    vi.stubEnv('BRINE_EXIT_CODES', 'stock');
    expect((await printedBy(['--api', 'salt', '*', 'test.ping'])).code).toBe(0);
  });

  test.each([
    [['--api', 'master'], 'works on this host alone'],
    [['--api', 'key', 'sync'], 'works on this host alone'],
    [['--api', 'salt', '-c', '/etc/salt', '*', 'test.ping'], '-c is for the master of this host'],
    [['--api', 'salt', '-a', 'pam', '*', 'test.ping'], 'brine login'],
    [['--api=', 'salt', '*', 'test.ping'], 'is no address'],
    [['--api', 'http://192.0.2.1', 'salt', '*', 'test.ping'], 'is not encrypted'],
    [['login'], 'one address is needed'],
    [['login', 'http://192.0.2.1'], 'is not encrypted'],
    [['logout', 'a', 'b'], 'one address is enough'],
  ])('%j is a wrong command line', async (words, why) => {
    const { code, out, err } = await printedBy(words);
    expect({ code, out }).toEqual({ code: 64, out: '' });
    expect(err).toContain(why);
  });

  test('of this host alone passes over BRINE_API, and -c leads to this host', async () => {
    vi.stubEnv('BRINE_API', 'https://127.0.0.1:1');
    expect((await printedBy(['config', 'explain', 'timeout', '-c', home])).code).toBe(0);
    const local = await printedBy(['key', '-c', home, '-L']);
    expect(local.err).not.toContain('127.0.0.1:1');
  });

  test('logout without a session ends with 2', async () => {
    expect(await printedBy(['logout'])).toMatchObject({ code: 2, out: '' });
  });
});
