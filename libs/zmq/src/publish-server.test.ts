import { ZmtpPeer } from '@brine/testing';
import { connect } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';

import { PublishServer, Subscriber, tcpEndpoint } from './index.ts';
import { encodeMessage, handshake } from './zmtp-frames.ts';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

function keep<T extends { close(): unknown }>(thing: T): T {
  open.push(thing);
  return thing;
}

/** A server with quick heartbeats. */
async function beating(heartbeatTimeoutMs: number) {
  const endpoint = 'tcp://127.0.0.1:*';
  const options = { endpoint, heartbeatIntervalMs: 100, heartbeatTimeoutMs };
  const server = keep(await PublishServer.bind(options));
  return { server, port: Number(server.endpoint.split(':').at(-1)) };
}

async function firstOf(subscriber: Subscriber): Promise<string[]> {
  for await (const frames of subscriber) return frames.map(String);
  throw new Error('ended');
}

async function sendUntil(server: PublishServer, frames: string[], until: Promise<unknown>) {
  let done = false;
  void until.finally(() => {
    done = true;
  });
  while (!done) {
    await server.send(frames.map((text) => Buffer.from(text)));
    await new Promise((next) => setTimeout(next, 20));
  }
}

test('a subscriber to everything hears a one-frame message', async () => {
  const server = keep(await PublishServer.bind({ endpoint: 'tcp://127.0.0.1:*' }));
  const heard = firstOf(keep(new Subscriber({ endpoint: server.endpoint })));
  await sendUntil(server, ['payload'], heard);
  expect(await heard).toEqual(['payload']);
  expect(server.sent).toBeGreaterThan(0);
});

test('a subscriber to a topic hears only its own two-frame messages', async () => {
  const server = keep(await PublishServer.bind({ endpoint: 'tcp://127.0.0.1:*' }));
  const sub = keep(new Subscriber({ endpoint: server.endpoint, topics: ['mine'] }));
  const heard = firstOf(sub);
  let on = true;
  void heard.finally(() => (on = false));
  while (on) {
    await server.send([Buffer.from('other'), Buffer.from('1')]);
    await server.send([Buffer.from('mine'), Buffer.from('2')]);
    await new Promise((next) => setTimeout(next, 20));
  }
  expect(await heard).toEqual(['mine', '2']);
});

test('connections are counted, gained and lost', async () => {
  const onConnect = vi.fn();
  const onDisconnect = vi.fn();
  const endpoint = 'tcp://127.0.0.1:*';
  const server = keep(await PublishServer.bind({ endpoint, onConnect, onDisconnect }));
  const port = Number(server.endpoint.split(':').at(-1));
  const peer = keep(await ZmtpPeer.open({ port, socketType: 'SUB' }));
  await vi.waitFor(() => expect(server.peers).toBe(1));
  expect(onConnect).toHaveBeenCalledTimes(1);
  peer.close();
  await vi.waitFor(() => expect(server.peers).toBe(0));
  expect(onDisconnect).toHaveBeenCalledTimes(1);
});

test('heartbeats leave a peer alone that is there', async () => {
  const { server, port } = await beating(200);
  const live = keep(await ZmtpPeer.open({ port, socketType: 'SUB' }));
  await vi.waitFor(() => expect(server.peers).toBe(1));
  await new Promise((next) => setTimeout(next, 600));
  expect(live.closed).toBe(false);
  expect(server.peers).toBe(1);
});

test('a peer whose end takes nothing any more loses its connection', async () => {
  const { server, port } = await beating(500);
  const stuck = connect({ host: '127.0.0.1', port });
  keep({ close: () => stuck.destroy() });
  stuck.on('error', () => undefined);
  stuck.write(handshake('SUB', ''));
  await vi.waitFor(() => expect(server.peers).toBe(1));
  stuck.write(encodeMessage([Buffer.from([1])]));
  stuck.pause();
  await new Promise((next) => setTimeout(next, 200));
  // More than both kernels' buffers hold: from then on nothing is acknowledged.
  for (let count = 0; count < 40; count += 1) await server.send([Buffer.alloc(1 << 20)]);
  await vi.waitFor(() => expect(server.peers).toBe(0), { timeout: 15_000 });
});

test('a subscriber comes back by itself after the server was replaced', async () => {
  const first = keep(await PublishServer.bind({ endpoint: 'tcp://127.0.0.1:*', lingerMs: 0 }));
  const sub = keep(
    new Subscriber({ endpoint: first.endpoint, reconnectMs: 20, reconnectRandomize: false }),
  );
  const heard: string[] = [];
  void (async () => {
    for await (const frames of sub) heard.push(String(frames[0]));
  })();
  await vi.waitFor(async () => {
    await first.send([Buffer.from('one')]);
    expect(heard).toContain('one');
  });
  await first.close();
  const second = await vi.waitFor(() => PublishServer.bind({ endpoint: first.endpoint }));
  keep(second);
  await vi.waitFor(
    async () => {
      await second.send([Buffer.from('two')]);
      expect(heard).toContain('two');
    },
    { timeout: 5000 },
  );
});

test('an endpoint is made as Salt makes it, IPv6 in brackets', () => {
  expect(tcpEndpoint('0.0.0.0', 4505)).toBe('tcp://0.0.0.0:4505');
  expect(tcpEndpoint('::', 4505)).toBe('tcp://[::]:4505');
  expect(tcpEndpoint('[::1]', 0)).toBe('tcp://[::1]:*');
});
