import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { makeAuthority } from '@brine/crypt';
import { until } from '@brine/testing/waits';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HttpListener } from './http-listener.ts';
import { serveSockets } from './sockets.ts';

const HOST = '127.0.0.1';
const WS =
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
  'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const H2C =
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n' +
  'HTTP2-Settings: AAMAAABkAAQAAP__\r\n';

let dir: string;
let tls: { readonly crt: string; readonly key: string };
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-upgrades-'));
  const from = Date.now() - 1_000;
  const made = await makeAuthority('localhost', { from, until: from + 86_400_000 });
  tls = { crt: join(dir, 'crt.pem'), key: join(dir, 'key.pem') };
  writeFileSync(tls.crt, made.certificate);
  writeFileSync(tls.key, made.key);
});
afterAll(() => rm(dir, { recursive: true }));

const listeners: HttpListener[] = [];
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((one) => one.close()));
});

/** A listener with WebSockets at `/ws` and `/below/ws`; `/` answers with its body. */
async function serve(isTls: boolean) {
  const sockets: string[] = [];
  const listener = await HttpListener.start({
    address: { host: HOST, port: 0, ...(isTls ? { tls } : {}) },
    limits: { drainMs: 50 },
    build: async (app) => {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) =>
        done(null, body),
      );
      app.route({
        method: ['GET', 'POST'],
        url: '/',
        handler: async ({ method, body }) => `${method} ${typeof body === 'string' ? body : '-'}`,
      });
      const route = {
        admit: async () => 'hello',
        onSocket: (socket: { close(): void }, request: { readonly url: string }) => {
          sockets.push(request.url);
          socket.close();
        },
      };
      await app.register(async (scope) => serveSockets(scope, '/ws', route), { prefix: '/below' });
      await app.register(async (scope) => serveSockets(scope, '/ws', route));
    },
    errorPage: (status) => `<h2>${status}</h2>`,
    onTaken: () => undefined,
    onListening: () => undefined,
  });
  listeners.push(listener);
  const port = Number(new URL(listener.endpoint ?? '').port);
  const open = (): Socket =>
    isTls ? connectTls({ host: HOST, port, rejectUnauthorized: false }) : connect(port, HOST);
  return { sockets, exchange: (...parts: readonly string[]) => exchange(open(), parts) };
}

/** Sends parts, each as a packet; resolves with what came until the server closed. */
async function exchange(socket: Socket, parts: readonly string[]): Promise<string> {
  let text = '';
  let isClosed = false;
  socket.setNoDelay(true).setEncoding('latin1');
  socket.on('data', (part: string) => (text += part)).on('close', () => (isClosed = true));
  socket.on('error', () => undefined);
  for (const part of parts) {
    await new Promise<void>((resolve) => socket.write(part, () => setImmediate(resolve)));
  }
  await until('the server closes', () => isClosed);
  return text;
}

const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);

describe.each([
  { kind: 'without TLS', isTls: false },
  { kind: 'with TLS', isTls: true },
])('$kind', ({ isTls }) => {
  test.each(['/ws', '/ws/', '/below/ws', '//ws', '/ws?format_events'])(
    'a WebSocket is served at %s',
    async (path) => {
      const { sockets, exchange } = await serve(isTls);
      const text = await exchange(
        `GET ${path} HTTP/1.1\r\nHost: x\r\n${WS}\r\n`,
        '\x88\x80\0\0\0\0',
      );
      expect(statuses(text)).toEqual(['101']);
      expect(sockets).toEqual([path]);
    },
  );

  const OTHERS: readonly (readonly [string, string, string, string])[] = [
    ['for HTTP/2', `GET / HTTP/1.1\r\n${H2C}`, '', 'GET -'],
    [
      'for HTTP/2 with a body',
      `POST / HTTP/1.1\r\nContent-Length: 4\r\n${H2C}`,
      'abcd',
      'POST abcd',
    ],
    [
      'for HTTP/2 with chunks',
      `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n${H2C}`,
      '4\r\nabcd\r\n0\r\n\r\n',
      'POST abcd',
    ],
    ['for TLS', 'GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0\r\n', '', 'GET -'],
    ['for a WebSocket elsewhere', `GET / HTTP/1.1\r\n${WS}`, '', 'GET -'],
    [
      'for a WebSocket by POST',
      `POST / HTTP/1.1\r\nContent-Length: 4\r\n${WS}`,
      'abcd',
      'POST abcd',
    ],
  ];

  test.each(OTHERS)('a request %s is answered as one without', async (_, head, body, answer) => {
    const { sockets, exchange } = await serve(isTls);
    const text = await exchange(`${head}Host: x\r\n\r\n${body.slice(0, 2)}`, body.slice(2));
    expect(statuses(text)).toEqual(['200']);
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(answer);
    expect(sockets).toEqual([]);
  });

  test.each([
    ['HTTP/2 at the path of WebSockets', `GET /ws HTTP/1.1\r\n${H2C}`],
    ['a WebSocket below it', `GET /ws/more HTTP/1.1\r\n${WS}`],
    ['a WebSocket at a path that is not there', `GET /none HTTP/1.1\r\n${WS}`],
  ])('a request for %s is not found', async (_, head) => {
    const { sockets, exchange } = await serve(isTls);
    expect(statuses(await exchange(`${head}Host: x\r\n\r\n`))).toEqual(['404']);
    expect(sockets).toEqual([]);
  });

  test('nothing that follows an upgrade that was ignored is taken for a request', async () => {
    const { exchange } = await serve(isTls);
    const hidden = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    const text = await exchange(`GET / HTTP/1.1\r\nHost: x\r\n${H2C}\r\n${hidden}`, hidden, hidden);
    expect(statuses(text)).toEqual(['200']);
    expect(text.toLowerCase()).toContain('connection: close');
  });

  test('a tunnel is refused', async () => {
    const { exchange } = await serve(isTls);
    const text = await exchange('CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n', 'SSH-2.0\r\n');
    expect(text).not.toMatch(/ 200 |SSH/);
  });
});
