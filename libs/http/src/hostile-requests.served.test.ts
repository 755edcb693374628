// Requests that hide others, never end, or are reset: by HTTP/1.1 with and without TLS, and HTTP/2.
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { makeAuthority } from '@brine/crypt';
import { Gate, growsOld, until } from '@brine/testing/waits';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { whenClosed } from './closed.ts';
import { HttpListener } from './http-listener.ts';
import type { HttpLimits } from './limits.ts';

const HOST = '127.0.0.1';

let dir: string;
let tls: { readonly crt: string; readonly key: string };
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-hostile-'));
  const from = Date.now() - 1_000;
  const made = await makeAuthority('localhost', { from, until: from + 86_400_000 });
  tls = { crt: join(dir, 'crt.pem'), key: join(dir, 'key.pem') };
  writeFileSync(tls.crt, made.certificate);
  writeFileSync(tls.key, made.key);
});
afterAll(() => rm(dir, { recursive: true }));

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

/** A listener that answers with the body, and counts the requests in hand and those it read. */
async function serve(isTls: boolean, limits: Partial<HttpLimits> = {}) {
  const seen = { inHand: 0, begun: 0, read: [] as string[] };
  const gate = new Gate();
  const listener = await HttpListener.start({
    address: { host: HOST, port: 0, ...(isTls ? { tls } : {}) },
    limits: { drainMs: 50, ...limits },
    build: (app) => {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
        done(null, body),
      );
      app.addHook('onRequest', async (_request, reply) => {
        seen.inHand += 1;
        seen.begun += 1;
        whenClosed(reply, () => (seen.inHand -= 1));
      });
      app.route({
        method: ['GET', 'POST'],
        url: '/',
        handler: async ({ body }) => {
          const text = (body as Buffer | undefined)?.toString('latin1') ?? '';
          seen.read.push(text);
          return `got ${text}`;
        },
      });
      const slow = async (): Promise<string> => {
        await gate.opened;
        return 'x'.repeat(1_000_000);
      };
      app.route({ method: ['GET', 'POST'], url: '/slow', handler: slow });
    },
    errorPage: (status) => `<h2>${status}</h2>`,
    onTaken: () => undefined,
    onListening: () => undefined,
  });
  opened.push(listener);
  const port = Number(new URL(listener.endpoint ?? '').port);
  return { seen, gate, listener, port };
}

/** A connection that sends bytes as they are, and what came. */
class Peer {
  readonly socket: Socket;
  text = '';
  isClosed = false;

  constructor(port: number, isTls: boolean) {
    this.socket = isTls
      ? connectTls({ host: HOST, port, rejectUnauthorized: false })
      : connect(port, HOST);
    this.socket.setNoDelay(true).setEncoding('latin1');
    this.socket.on('data', (part: string) => (this.text += part));
    this.socket.on('close', () => (this.isClosed = true)).on('error', () => undefined);
  }

  /** Sends, and resolves with what came until the server closed. */
  async exchange(text: string): Promise<string> {
    this.socket.write(Buffer.from(text, 'latin1'));
    await until('the server closes', () => this.isClosed);
    return this.text;
  }
}

function overHttp2(port: number): ClientHttp2Session {
  const session = connectHttp2(`https://${HOST}:${port}`, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  opened.push({ close: () => session.destroy() });
  return session;
}

/** A request of HTTP/2: its status once it is over; undefined if the server reset it. */
function asked(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  body: Buffer | string = '',
): Promise<number | undefined> {
  return new Promise((resolve) => {
    let status: number | undefined;
    const stream = session.request(headers, { endStream: body === '' });
    stream.on('response', (head) => (status = head[':status']));
    stream.on('error', () => undefined).on('close', () => resolve(status));
    stream.resume();
    if (body !== '') stream.end(body);
  });
}

const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status = '']) => status);

/** Whether another peer is served. */
async function servesOthers(port: number, isTls: boolean): Promise<boolean> {
  const get = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
  return (await new Peer(port, isTls).exchange(get)).endsWith('got ');
}

const KINDS = [
  { kind: 'HTTP/1.1', isTls: false },
  { kind: 'HTTP/1.1 over TLS', isTls: true },
];

describe('a request that hides another', () => {
  const CHUNKED = 'Transfer-Encoding: chunked\r\n';
  const LENGTH = 'Content-Length: 4\r\n';
  const HIDING: readonly (readonly [string, string])[] = [
    ['a list of lengths', 'Content-Length: 4, 4\r\n\r\nabcd'],
    ['a negative length', 'Content-Length: -1\r\n\r\n'],
    ['a length in hex', 'Content-Length: 0x4\r\n\r\nabcd'],
    ['a length beyond 64 bits', 'Content-Length: 18446744073709551617\r\n\r\na'],
    ['the lengths the other way round', `${CHUNKED}${LENGTH}\r\n0\r\n\r\n`],
    ['a coding in another place', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['a coding after chunked', `${CHUNKED}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
    ['a coding with a sign of control', 'Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n'],
    ['a coding in quotes', `Transfer-Encoding: "chunked"\r\n${LENGTH}\r\nabcd`],
    ['a space before the colon', `Transfer-Encoding : chunked\r\n${LENGTH}\r\nabcd`],
    ['a tab before the colon', `Content-Length\t: 4\r\n\r\nabcd`],
    ['lines that end with LF alone', 'X-A: 1\nContent-Length: 4\n\nabcd'],
    ['a line that ends with CR alone', `X-A: 1\rContent-Length: 4\r\n\r\nabcd`],
    ['NUL in a header', `X-A: a\0b\r\n${LENGTH}\r\nabcd`],
    ['NUL in the name of a header', `X\0A: a\r\n${LENGTH}\r\nabcd`],
    ['a header without a name', `: a\r\n${LENGTH}\r\nabcd`],
    ['a chunk size beyond 64 bits', `${CHUNKED}\r\nfffffffffffffffff\r\nab\r\n0\r\n\r\n`],
    ['a chunk size with a sign', `${CHUNKED}\r\n-4\r\nabcd\r\n0\r\n\r\n`],
    ['a chunk size with a space', `${CHUNKED}\r\n 4\r\nabcd\r\n0\r\n\r\n`],
    ['a chunk that ends with LF', `${CHUNKED}\r\n4\nabcd\n0\n\n`],
    ['a chunk longer than its size', `${CHUNKED}\r\n4\r\nabcdef\r\n0\r\n\r\n`],
    ['LF in the extension of a chunk', `${CHUNKED}\r\n4;a\nb\r\nabcd\r\n0\r\n\r\n`],
    ['CR in the extension of a chunk', `${CHUNKED}\r\n4;a\rb\r\nabcd\r\n0\r\n\r\n`],
    ['a long extension of a chunk', `${CHUNKED}\r\n4;${'a'.repeat(70_000)}\r\nabcd\r\n0\r\n\r\n`],
  ];

  test.each(HIDING)('by %s is refused, and the other is not read', async (_, rest) => {
    const { seen, port } = await serve(false);
    const hidden = 'GET /?hidden HTTP/1.1\r\nHost: x\r\n\r\n';
    const text = await new Peer(port, false).exchange(
      `POST / HTTP/1.1\r\nHost: x\r\n${rest}${hidden}`,
    );
    expect(statuses(text)).toEqual([expect.stringMatching(/^4\d\d$/)]);
    expect(seen.read).toEqual([]);
    expect(seen.inHand).toBe(0);
  });

  const LINES: readonly (readonly [string, string])[] = [
    ['NUL in the path', 'GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a space in the path', 'GET / / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['CR in the path', 'GET /\rX-A: HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: x\r\n\r\n'],
    ['HTTP/2.0 without a preface', 'GET / HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
  ];

  test.each(LINES)('a first line with %s is refused', async (_, text) => {
    const { seen, port } = await serve(false);
    expect(statuses(await new Peer(port, false).exchange(text))[0]).toMatch(/^[45]\d\d$/);
    expect(seen.read).toEqual([]);
  });

  test('two chunks with short extensions and a trailer are one body', async () => {
    const { port } = await serve(false);
    const head = `POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${CHUNKED}\r\n`;
    const text = await new Peer(port, false).exchange(
      `${head}2;a=b\r\nab\r\n2\r\ncd\r\n0\r\nX-A: b\r\n\r\n`,
    );
    expect(text).toMatch(/got abcd$/);
  });
});

describe.each(KINDS)('a peer that does not end its request, by $kind', ({ isTls }) => {
  const SLOW: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['a part of the first line', 'GE'],
    ['a part of the headers', 'GET / HTTP/1.1\r\nHost: x\r\nX-A: '],
    ['a part of the body', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nab'],
    [
      'a part of a chunk',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\na',
    ],
  ];

  test('after any part is closed, and others are served meanwhile', async () => {
    const limits = { headersMs: 1_000, requestMs: 2_000, checkMs: 100 };
    const { seen, port, listener } = await serve(isTls, limits);
    const peers = SLOW.flatMap(([name, part]) =>
      Array.from({ length: 8 }, () => ({ name, part, peer: new Peer(port, isTls) })),
    );
    for (const { part, peer } of peers) peer.socket.write(part);
    expect(await servesOthers(port, isTls)).toBe(true);
    // Node checks HTTP/1.1 beside HTTP/2 every 30 s, whatever `checkMs` is.
    await until(
      'all are closed',
      () => {
        const open = peers.filter(({ peer }) => !peer.isClosed);
        expect(new Set(open.map(({ name }) => name))).toEqual(new Set());
        return true;
      },
      { withinMs: 75_000 },
    );
    await until('none is open', () => listener.connections === 0);
    expect(seen.inHand).toBe(0);
  });

  test('reset in a request or in an answer leaves nothing in hand', async () => {
    const { seen, gate, port, listener } = await serve(isTls);
    const peers = Array.from({ length: 30 }, () => new Peer(port, isTls));
    for (const [at, { socket }] of peers.entries()) {
      const isSlow = at % 2 === 0;
      const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nab';
      socket.write(isSlow ? 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n' : post);
    }
    await until('all have begun', () => seen.begun === 30);
    for (const { socket } of peers) socket.destroy();
    gate.open();
    await until('nothing is in hand', () => seen.inHand === 0);
    await until('none is open', () => listener.connections === 0);
    expect(await servesOthers(port, isTls)).toBe(true);
  });
});

describe('HTTP/2', () => {
  const POST = { ':method': 'POST', ':path': '/', 'content-type': 'text/plain' };

  test('a request whose body does not end is reset, and others are served meanwhile', async () => {
    const { seen, port } = await serve(true, { requestMs: 1_000 });
    const session = overHttp2(port);
    const streams = Array.from({ length: 50 }, () => session.request(POST, { endStream: false }));
    let over = 0;
    for (const stream of streams) {
      stream.on('error', () => undefined).on('close', () => (over += 1));
      stream.write('a');
    }
    await until('all are in hand', () => seen.inHand === 50);
    expect(await servesOthers(port, true)).toBe(true);
    await until('all were reset', () => over === 50);
    await until('nothing is in hand', () => seen.inHand === 0);
    expect(await asked(session, POST, 'abcd')).toBe(200);
    expect(seen.read.filter((text) => text !== '')).toEqual(['abcd']);
  });

  test('a body that is cut off by a reset is not read as a whole one', async () => {
    const { seen, port } = await serve(true);
    const session = overHttp2(port);
    const stream = session.request(POST, { endStream: false });
    stream.on('error', () => undefined).write('tgt=web');
    await until('it is in hand', () => seen.inHand === 1);
    stream.destroy();
    await until('nothing is in hand', () => seen.inHand === 0);
    const other = overHttp2(port);
    other
      .request(POST, { endStream: false })
      .on('error', () => undefined)
      .write('tgt=web');
    await until('it is in hand', () => seen.inHand === 1);
    other.destroy();
    await until('nothing is in hand', () => seen.inHand === 0);
    expect(await asked(session, POST, 'tgt=web1')).toBe(200);
    expect(seen.read).toEqual(['tgt=web1']);
  });

  test('a late answer to a whole request is sent', async () => {
    const { gate, seen, port } = await serve(true, { requestMs: 500 });
    const session = overHttp2(port);
    const slow = { ...POST, ':path': '/slow' };
    const answers = [asked(session, { ':path': '/slow' }), asked(session, slow, 'abcd')];
    await until('both are in hand', () => seen.inHand === 2);
    await growsOld('the requests', 1_500);
    gate.open();
    expect(await Promise.all(answers)).toEqual([200, 200]);
    expect(seen.inHand).toBe(0);
  });

  test('streams that are reset at once leave nothing in hand, and others are served', async () => {
    const { seen, port } = await serve(true);
    for (let round = 0; round < 5; round += 1) {
      const session = overHttp2(port);
      await new Promise((resolve) => session.once('connect', resolve));
      for (let n = 0; n < 1_000 && !session.destroyed; n += 1) {
        const stream = session.request({ ':path': '/slow' });
        stream.on('error', () => undefined).close(8);
      }
    }
    expect(await servesOthers(port, true)).toBe(true);
    await until('nothing is in hand', () => seen.inHand === 0);
  });

  test('100,000 headers, and headers of 1 MiB, are refused', async () => {
    const { seen, port } = await serve(true);
    const many = Array.from({ length: 100_000 }, (_, at) => [`x-${at}`, '1']);
    const all: readonly Readonly<Record<string, string>>[] = [
      Object.fromEntries(many) as Record<string, string>,
      { 'x-long': 'a'.repeat(1_048_576) },
    ];
    for (const headers of all) {
      const session = overHttp2(port);
      const status = await asked(session, { ':path': '/', ...headers });
      expect([undefined, 431]).toContain(status);
    }
    expect(seen.read).toEqual([]);
    expect(await servesOthers(port, true)).toBe(true);
  });

  test('a body over the limit is refused before it has come', async () => {
    const { seen, port } = await serve(true, { bodyBytes: 1_000 });
    const session = overHttp2(port);
    expect(await asked(session, POST, Buffer.alloc(4_000_000))).toBe(413);
    await until('nothing is in hand', () => seen.inHand === 0);
    expect(seen.read).toEqual([]);
  });

  test('a request that is answered before its end leaves nothing in hand', async () => {
    const { seen, port } = await serve(true, { requestMs: 1_000 });
    const session = overHttp2(port);
    const paths = ['/', '/none'];
    const answers = paths.map((path) => {
      const stream = session.request({ ':method': 'POST', ':path': path }, { endStream: false });
      return new Promise<number | undefined>((resolve) => {
        stream.on('response', (head) => resolve(head[':status']));
        stream.on('error', () => undefined).resume();
      });
    });
    expect(await Promise.all(answers)).toEqual([200, 404]);
    await until('nothing is in hand', () => seen.inHand === 0);
  });
});

describe.each(KINDS)('what is too large, by $kind', ({ isTls }) => {
  test.each([
    ['an address', `GET /${'a'.repeat(1_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['one header', `GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(1_000_000)}\r\n\r\n`],
    ['a method', `${'A'.repeat(1_000_000)} / HTTP/1.1\r\nHost: x\r\n\r\n`],
  ])('%s is refused before the end', async (_, text) => {
    const { seen, port } = await serve(isTls);
    const answer = await new Peer(port, isTls).exchange(text);
    // A peer that still sends may lose the answer with its connection.
    expect(statuses(answer).filter((one) => !/^4/.test(one))).toEqual([]);
    expect(seen.read).toEqual([]);
    expect(await servesOthers(port, isTls)).toBe(true);
  });
});
