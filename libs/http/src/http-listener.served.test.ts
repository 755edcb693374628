import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { connect as connectHttp2, constants } from 'node:http2';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeAuthority } from '@brine/crypt';
import { Gate, until } from '@brine/testing/waits';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type HttpApp, HttpListener, type HttpListenerOptions } from './http-listener.ts';
import { serveSockets } from './sockets.ts';

const HOST = '127.0.0.1';

let dir: string;
let tls: { readonly crt: string; readonly key: string };
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-http-'));
  const from = Date.now() - 1_000;
  const made = await makeAuthority('localhost', { from, until: from + 86_400_000 });
  tls = { crt: join(dir, 'crt.pem'), key: join(dir, 'key.pem') };
  writeFileSync(tls.crt, made.certificate);
  writeFileSync(tls.key, made.key);
});
afterAll(() => rm(dir, { recursive: true }));

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

const errorPage = (status: number): string => `<h2>${status}</h2>`;

/** The routes of most tests: `/` echoes its body, `/slow` answers once the gate is open. */
function routes(app: HttpApp, gate = new Gate()): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.get('/', async () => 'here');
  app.post('/', async (request) => `got ${(request.body as Buffer | undefined)?.toString() ?? ''}`);
  app.get('/slow', async () => {
    await gate.opened;
    return 'at last';
  });
  app.get('/stream', (_request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
    reply.raw.write('begun\n');
  });
  app.setErrorHandler((error: { readonly statusCode?: number }, _request, reply) =>
    reply
      .code(error.statusCode ?? 500)
      .type('text/html')
      .send(errorPage(error.statusCode ?? 500)),
  );
}

async function serve(options: Partial<HttpListenerOptions> = {}): Promise<HttpListener> {
  const listener = await HttpListener.start({
    address: { host: HOST, port: 0 },
    build: (app) => routes(app),
    errorPage,
    onTaken: () => undefined,
    onListening: () => undefined,
    ...options,
  });
  opened.push(listener);
  return listener;
}

function portOf({ endpoint = '' }: HttpListener): number {
  return Number(new URL(endpoint).port);
}

/** A connection that sends bytes as they are, and what it has received. */
class Peer {
  readonly socket: Socket;
  text = '';
  isClosed = false;

  constructor(listener: HttpListener) {
    this.socket = connect(portOf(listener), HOST);
    this.socket.setEncoding('latin1');
    this.socket.on('data', (part: string) => (this.text += part));
    this.socket.on('close', () => (this.isClosed = true));
    this.socket.on('error', () => undefined);
  }

  /** Sends, and resolves with what came until the server closed. */
  async exchange(text: string): Promise<string> {
    this.socket.write(text);
    await until('the server closes', () => this.isClosed);
    return this.text;
  }
}

const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);

test('a port of another program is tried again until it is free', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => void other.listen(0, HOST, resolve));
  const { port } = other.address() as { port: number };
  const reasons: string[] = [];
  const listener = await serve({
    address: { host: HOST, port },
    limits: { listenAgainMs: 20 },
    onTaken: (reason) => void reasons.push(reason),
  });
  // More tries than an emitter takes listeners without a warning.
  await until('it was tried', () => reasons.length > 12);
  expect(listener.endpoint).toBeUndefined();
  expect(reasons[0]).toContain('EADDRINUSE');
  await new Promise((resolve) => other.close(resolve));
  await until('it listens', () => listener.endpoint !== undefined);
  expect(await (await fetch(`${listener.endpoint}/`)).text()).toBe('here');
});

test('a listener that never got its port closes', async () => {
  const first = await serve();
  const port = portOf(first);
  const second = await serve({ address: { host: HOST, port } });
  await second.close();
  expect(await (await fetch(`http://${HOST}:${port}/`)).text()).toBe('here');
});

test('a supervisor that fails to answer counts as a port that is taken', async () => {
  const reasons: string[] = [];
  let calls = 0;
  const listener = await serve({
    limits: { listenAgainMs: 20 },
    boundPort: async () => {
      calls += 1;
      if (calls < 3) throw new Error('no supervisor');
      return undefined;
    },
    onTaken: (reason) => void reasons.push(reason),
  });
  await until('it listens', () => listener.endpoint !== undefined);
  expect(reasons).toEqual(['no supervisor', 'no supervisor']);
});

test('a missing file of TLS stops the start', async () => {
  const wrong = { ...tls, key: join(dir, 'none.pem') };
  await expect(serve({ address: { host: HOST, port: 0, tls: wrong } })).rejects.toThrow('ENOENT');
});

test('with TLS, HTTP/2 and HTTP/1.1 are served on one port', async () => {
  const listener = await serve({ address: { host: HOST, port: 0, tls } });
  expect(listener.endpoint).toMatch(/^https:/);
  const session = connectHttp2(listener.endpoint ?? '', { rejectUnauthorized: false });
  const text = await new Promise<string>((resolve, reject) => {
    let body = '';
    const stream = session.request({ [constants.HTTP2_HEADER_PATH]: '/' });
    stream.setEncoding('utf8').on('data', (part: string) => (body += part));
    stream.on('end', () => resolve(body)).on('error', reject);
  });
  expect(text).toBe('here');
  const old = await new Promise<string>((resolve, reject) => {
    const request = httpsRequest(`${listener.endpoint}/`, { rejectUnauthorized: false }, (answer) =>
      resolve(`HTTP/${answer.httpVersion} ${answer.statusCode}`),
    );
    request.on('error', reject).end();
  });
  expect(old).toBe('HTTP/1.1 200');
  session.close();
});

test('headers that come slowly end the connection', async () => {
  const listener = await serve({ limits: { headersMs: 100, requestMs: 200, checkMs: 50 } });
  const peer = new Peer(listener);
  const text = await peer.exchange('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  expect(statuses(text)).toEqual(['408']);
  expect(text).toContain('<h2>408</h2>');
});

test('a body that comes slowly ends the connection', async () => {
  const listener = await serve({ limits: { headersMs: 100, requestMs: 200, checkMs: 50 } });
  const peer = new Peer(listener);
  await peer.exchange('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{');
  expect(peer.text).not.toContain('200 OK');
});

test('100,000 headers are refused with our page', async () => {
  const listener = await serve();
  const many = Array.from({ length: 100_000 }, (_, at) => `X-${at}: 1\r\n`).join('');
  const text = await new Peer(listener).exchange(`GET / HTTP/1.1\r\nHost: x\r\n${many}\r\n`);
  expect(statuses(text)).toEqual(['431']);
  expect(text).toContain('<h2>431</h2>');
});

const SMUGGLED: readonly (readonly [string, string])[] = [
  ['both lengths', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['two lengths', 'Content-Length: 4\r\nContent-Length: 11\r\n\r\nabcd'],
  ['a length that is no number', 'Content-Length: +4\r\n\r\nabcd'],
  ['chunked and more', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
  ['a chunk size that is no number', 'Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n'],
  ['a header folded over two lines', 'X-A: 1\r\n Content-Length: 4\r\n\r\nabcd'],
];

test.each(SMUGGLED)('a request with %s answers nothing that it hides', async (_, rest) => {
  const listener = await serve();
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n';
  const peer = new Peer(listener);
  const text = await peer.exchange(`POST / HTTP/1.1\r\nHost: x\r\n${rest}${hidden}`);
  expect(statuses(text)).toEqual(['400']);
  expect(text).toContain('<h2>400</h2>');
});

test('a body over the limit is refused before it has come', async () => {
  const listener = await serve({ limits: { bodyBytes: 1_000 } });
  const peer = new Peer(listener);
  peer.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n');
  await until('an answer', () => peer.text.includes('</h2>'));
  expect(statuses(peer.text)).toEqual(['413']);
  peer.socket.destroy();
});

test('a chunked body over the limit is refused', async () => {
  const listener = await serve({ limits: { bodyBytes: 1_000 } });
  const peer = new Peer(listener);
  const chunk = `800\r\n${'x'.repeat(2_048)}\r\n`;
  peer.socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`);
  await until('an answer', () => peer.text.includes('</h2>'));
  expect(statuses(peer.text)).toEqual(['413']);
  peer.socket.destroy();
});

test('a compressed body is not unpacked', async () => {
  const listener = await serve({ limits: { bodyBytes: 10_000 } });
  const body = gzipSync(Buffer.alloc(5_000_000, 'a'));
  const answer = await fetch(`${listener.endpoint}/`, {
    method: 'POST',
    headers: { 'Content-Encoding': 'gzip' },
    body,
  });
  expect((await answer.text()).length).toBeLessThan(20_000);
});

test('pipelined requests are answered in their order', async () => {
  const gate = new Gate();
  const listener = await serve({ build: (app) => routes(app, gate) });
  const peer = new Peer(listener);
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  peer.socket.write(get('/slow') + get('/') + get('/none'));
  gate.open();
  await until('three answers', () => statuses(peer.text).length === 3);
  expect(statuses(peer.text)).toEqual(['200', '200', '404']);
  expect(peer.text.indexOf('at last')).toBeLessThan(peer.text.indexOf('here'));
  peer.socket.destroy();
});

test('connections beyond the limit are closed, and others come in once there is room', async () => {
  const listener = await serve({ limits: { connections: 50 } });
  const peers = Array.from({ length: 80 }, () => new Peer(listener));
  await until(
    'the others are closed',
    () => peers.filter(({ isClosed }) => isClosed).length === 30,
  );
  await until('50 are open', () => listener.connections === 50);
  for (const { socket } of peers) socket.destroy();
  await until('none is open', () => listener.connections === 0);
  expect((await fetch(`${listener.endpoint}/`)).status).toBe(200);
});

const BAD_PATHS = ['/%', '/%ff', '/%zz', `/${'a'.repeat(5_000)}`, '/%c0%af', '//%'];

test.each(BAD_PATHS)('the path %s is refused with our page or not found', async (path) => {
  const listener = await serve();
  const peer = new Peer(listener);
  const text = await peer.exchange(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect(statuses(text)[0]).toMatch(/^4\d\d$/);
});

test('a path that can not be decoded is answered with our page', async () => {
  const listener = await serve();
  const peer = new Peer(listener);
  const text = await peer.exchange('GET /% HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(text).toContain('<h2>400</h2>');
  expect(text).not.toContain('FST_');
});

test('bytes in the middle of an answer end the connection without a page', async () => {
  const listener = await serve();
  const peer = new Peer(listener);
  peer.socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('it has begun', () => peer.text.includes('begun'));
  const text = await peer.exchange('\0\0\0\r\n\r\n');
  expect(statuses(text)).toEqual(['200']);
});

interface Kind {
  readonly kind: string;
  readonly isTls: boolean;
  readonly h2: boolean;
}
const KINDS: readonly Kind[] = [
  { kind: 'HTTP/1.1', isTls: false, h2: false },
  { kind: 'HTTP/1.1 over TLS', isTls: true, h2: false },
  { kind: 'HTTP/2', isTls: true, h2: true },
];

/** Opens `/`, waits for the answer, and leaves the connection open; then opens a path and waits. */
async function openTwo(listener: HttpListener, { isTls, h2 }: Kind, path: string) {
  const ended: string[] = [];
  const begun: string[] = [];
  const take = (name: string, answer: NodeJS.ReadableStream): void => {
    begun.push(name);
    answer.on('error', () => undefined).on('close', () => ended.push(name));
    answer.resume();
  };
  if (h2) {
    const session = connectHttp2(listener.endpoint ?? '', { rejectUnauthorized: false });
    session.on('error', () => undefined);
    for (const name of ['/', path]) {
      const stream = session.request({ [constants.HTTP2_HEADER_PATH]: name });
      stream.on('error', () => undefined);
      stream.on('close', () => ended.push(name)).on('response', () => begun.push(name));
      stream.resume();
    }
    return { ended, begun, end: () => session.destroy() };
  }
  const agent = isTls
    ? new TlsAgent({ keepAlive: true, rejectUnauthorized: false })
    : new Agent({ keepAlive: true });
  const ask = isTls ? httpsRequest : httpRequest;
  for (const name of ['/', path]) {
    ask(`${listener.endpoint}${name}`, { agent }, (answer) => take(name, answer))
      .on('error', () => ended.push(name))
      .end();
  }
  return { ended, begun, end: () => agent.destroy() };
}

test.each(KINDS)('close() ends idle connections of $kind at once', async (kind) => {
  const address = { host: HOST, port: 0, ...(kind.isTls ? { tls } : {}) };
  const listener = await serve({ address, limits: { drainMs: 60_000 } });
  const two = await openTwo(listener, kind, '/');
  await until('both are answered', () => two.ended.length === 2);
  await listener.close();
  await until('no connection is open', () => listener.connections === 0);
  two.end();
});

test.each(KINDS)('close() ends a stream of $kind within its bound', async (kind) => {
  const address = { host: HOST, port: 0, ...(kind.isTls ? { tls } : {}) };
  const listener = await serve({ address, limits: { drainMs: 100 } });
  const two = await openTwo(listener, kind, '/stream');
  await until('the stream has begun', () => two.begun.length === 2);
  await listener.close();
  await until('it has ended', () => two.ended.includes('/stream'));
  await until('no connection is open', () => listener.connections === 0);
  two.end();
});

test.each(KINDS)('close() of $kind waits for an answer in flight', async (kind) => {
  const gate = new Gate();
  const reached = new Gate();
  const address = { host: HOST, port: 0, ...(kind.isTls ? { tls } : {}) };
  const listener = await serve({
    address,
    limits: { drainMs: 60_000 },
    build: (app) => {
      app.get('/', async () => 'here');
      app.get('/late', async () => {
        reached.open();
        await gate.opened;
        return 'late';
      });
    },
  });
  const two = await openTwo(listener, kind, '/late');
  await reached.opened;
  const closed = listener.close();
  gate.open();
  await closed;
  await until('it was answered', () => two.begun.includes('/late'));
  two.end();
});

test('a WebSocket is closed by close()', async () => {
  const listener = await serve({
    build: (app) => {
      void app.after(() =>
        serveSockets(app, '/ws', {
          admit: async () => 'hello',
          onSocket: (socket, _request, text) => socket.send(text),
        }),
      );
    },
    limits: { drainMs: 100 },
  });
  const peer = new Peer(listener);
  peer.socket.write(
    'GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await until('a message', () => peer.text.includes('hello'));
  expect(statuses(peer.text)).toEqual(['101']);
  await listener.close();
  await until('it is closed', () => peer.isClosed);
});
