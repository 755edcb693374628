import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { startNats, type TestNats } from '@brine/testing';
import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPLY_INBOX } from '../subjects/names.ts';
import { CLIENT_VERSION, encodedHeaders, headerBytes } from './client-internals.ts';
import type { Bus } from './connect.ts';

const SUBJECT = `${REPLY_INBOX}.g1.1`;

/** What to look at in the client's sources before {@link CLIENT_VERSION} may change. */
const TO_COMPARE = `client-internals.ts was read against NATS client ${CLIENT_VERSION}. Compare:
 transport-node/lib/node_transport.js: send, _send, isClosed, socket, connect(server, options), and
   that close still waits for _send
 nats-core/lib/nats.js: that connect uses the factory of setTransportFactory
 nats-core/lib/msg.js: _rdata, _msg.hdr (-1 without headers), and that a callback's message
   owns them
 nats-core/lib/protocol.js, publish: that it calls nothing of headers but encode
Then run this file and certificates.served.test.ts, and set CLIENT_VERSION.`;

let nats: TestNats;
let worker: Bus;
let gateway: Bus;

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  gateway = await nats.connect('req-gateway');
});

afterAll(async () => {
  await worker.close();
  await gateway.close();
  await nats[Symbol.asyncDispose]();
});

async function received(send: () => void): Promise<Msg> {
  const subscription = gateway.connection.subscribe(SUBJECT, { max: 1 });
  await gateway.flush();
  send();
  for await (const msg of subscription) return msg;
  throw new Error('nothing came');
}

test('the pinned client is the one whose internals are used', () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  const pinned = ['@nats-io/nats-core', '@nats-io/transport-node'].map(
    (name) => dependencies[name],
  );
  expect(pinned, TO_COMPARE).toEqual([CLIENT_VERSION, CLIENT_VERSION]);
});

test('of headers the client calls encode alone, and what it encodes arrives byte for byte', async () => {
  const bytes = Buffer.from('NATS/1.0\r\nBrine-Tag: a  b\r\nbrine-tag:c\r\n\r\n');
  const headers = new Proxy(encodedHeaders(bytes), {
    get(target, name) {
      expect(name, TO_COMPARE).toBe('encode');
      return (target as MsgHdrs & { readonly encode: unknown }).encode;
    },
  });
  const msg = await received(() => worker.connection.publish(SUBJECT, 'body', { headers }));
  expect(headerBytes(msg)?.toString(), TO_COMPARE).toBe(bytes.toString());
  expect(msg.string()).toBe('body');
});

test('a message without headers has no bytes of them', async () => {
  const msg = await received(() => worker.connection.publish(SUBJECT, 'body'));
  expect(headerBytes(msg)?.length, TO_COMPARE).toBe(0);
});

test('messages of many microtasks of one turn are one write', async () => {
  const { protocol } = worker.connection as unknown as {
    readonly protocol: { readonly transport: { readonly socket: Socket } };
  };
  await worker.flush();
  const { socket } = protocol.transport;
  const write = socket.write.bind(socket);
  let writes = 0;
  socket.write = ((...args: Parameters<Socket['write']>) => {
    writes += 1;
    return write(...args);
  }) as Socket['write'];
  for (let n = 0; n < 20; n += 1) {
    worker.connection.publish(SUBJECT, 'body');
    await Promise.resolve();
    await Promise.resolve();
  }
  expect(writes).toBe(0);
  await worker.flush();
  expect(writes, TO_COMPARE).toBe(1);
});

test('a message that was sent just before the end arrives', async () => {
  const leaving = await nats.connect('worker-pool');
  const msg = await received(() => {
    leaving.connection.publish(SUBJECT, 'last words');
    void leaving.close();
  });
  expect(msg.string()).toBe('last words');
});
