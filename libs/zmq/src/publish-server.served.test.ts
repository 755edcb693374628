import { connect } from 'node:net';
import { ZmtpPeer } from '@brine/testing';
import { loadPauses, until, workTakes } from '@brine/testing/waits';
import { afterEach, expect, test, vi } from 'vitest';
import { type PublishPeer, PublishServer, Subscriber, tcpEndpoint } from './index.ts';
import { encodeMessage, handshake } from './zmtp/frames.ts';

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
    await loadPauses(20);
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
    await loadPauses(20);
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
  await until('the peer is connected', () => expect(server.peers).toBe(1));
  expect(onConnect).toHaveBeenCalledTimes(1);
  peer.close();
  await until('the peer is gone', () => expect(server.peers).toBe(0));
  expect(onDisconnect).toHaveBeenCalledTimes(1);
});

test('each connection is told with its address, its port and its topics', async () => {
  const seen: string[] = [];
  const peers = new Set<PublishPeer>();
  const note = (what: string) => (peer: PublishPeer) => {
    peers.add(peer);
    seen.push(`${what} ${peer.address} ${[...peer.topics].join(',')}`);
  };
  const server = keep(
    await PublishServer.bind({
      endpoint: 'tcp://127.0.0.1:*',
      onConnect: note('connect'),
      onTopics: note('topics'),
      onDisconnect: note('disconnect'),
    }),
  );
  const port = Number(server.endpoint.split(':').at(-1));
  const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.1' });
  keep({ close: () => socket.destroy() });
  socket.write(handshake('SUB', ''));
  await until('the peer is connected', () => expect(server.peers).toBe(1));
  socket.write(encodeMessage([Buffer.from('\x01broadcast')]));
  socket.write(encodeMessage([Buffer.from('\x01broadcast')]));
  socket.write(encodeMessage([Buffer.from('\x01mine')]));
  await until('both topics are noted', () => expect(seen).toHaveLength(3));
  const { localPort } = socket;
  socket.destroy();
  await until('the end of the connection is noted', () => expect(seen).toHaveLength(4));
  expect(seen).toEqual([
    'connect 127.0.0.1 ',
    'topics 127.0.0.1 broadcast',
    'topics 127.0.0.1 broadcast,mine',
    'disconnect 127.0.0.1 broadcast,mine',
  ]);
  expect([...peers].map((peer) => peer.port)).toEqual([localPort]);
});

test('a peer that connects during many sendings gets its turn among them', async () => {
  const server = keep(await PublishServer.bind({ endpoint: 'tcp://127.0.0.1:*' }));
  const port = Number(server.endpoint.split(':').at(-1));
  const join = async (): Promise<void> => {
    keep(await ZmtpPeer.open({ port, socketType: 'SUB' })).send([Buffer.from([1])]);
  };
  const there = 130;
  await Promise.all(Array.from({ length: there }, join));
  await until('all early peers are connected', () => expect(server.peers).toBe(there));
  const late = 120;
  const joined = Promise.all(Array.from({ length: late }, join));
  const sends = Array.from({ length: 200 }, () => server.send([Buffer.from('payload')]));
  await Promise.all(sends);
  // Each message takes some turns; with none a peer would wait until all are sent.
  expect(server.peers).toBe(there + late);
  await joined;
});

test('the same goes out on further ports, or on none where one can not be had', async () => {
  const endpoint = 'tcp://127.0.0.1:*';
  const server = keep(await PublishServer.bind({ endpoint, furtherEndpoints: [endpoint] }));
  const ports = server.endpoints.map((one) => Number(one.split(':').at(-1)));
  expect(new Set(ports).size).toBe(2);
  for (const port of ports) {
    const peer = await rawSubscriber(server, port);
    peer.write(encodeMessage([Buffer.from('\x01')]));
    await sendUntil(
      server,
      ['all'],
      until('the peer hears what goes to all', () => expect(peer.heard()).toMatch(/all/)),
    );
  }
  expect(server.stats.connections).toBe(2);
  const taken = { endpoint, furtherEndpoints: [server.endpoint] };
  await expect(PublishServer.bind(taken)).rejects.toMatchObject({ code: 'SALT_ZMQ_BIND' });
});

test('heartbeats leave a peer alone that is there', async () => {
  const { server, port } = await beating(1_500);
  const live = keep(await ZmtpPeer.open({ port, socketType: 'SUB' }));
  await until('the peer is connected', () => expect(server.peers).toBe(1));
  const dies = await rawSubscriber(server, port);
  dies.write(PONG);
  await until('another, which falls silent, is cut off', () => expect(dies.closed()).toBe(true));
  expect(live.closed).toBe(false);
  expect(server.peers).toBe(1);
});

const PONG = Buffer.from('\x04\x05\x04PONG', 'latin1');

/** A subscriber that speaks only on demand. */
async function rawSubscriber(server: PublishServer, port: number) {
  const socket = connect({ host: '127.0.0.1', port });
  keep({ close: () => socket.destroy() });
  const chunks: Buffer[] = [];
  let ended = false;
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.on('close', () => (ended = true));
  const before = server.peers;
  socket.write(handshake('SUB', ''));
  await until('the subscriber is connected', () => expect(server.peers).toBe(before + 1));
  return {
    write: (bytes: Buffer) => socket.write(bytes),
    heard: () => Buffer.concat(chunks).toString('latin1'),
    closed: () => ended,
  };
}

test('a peer that stops answering heartbeats is cut off; one that never did is not', async () => {
  const { server, port } = await beating(300);
  const dies = await rawSubscriber(server, port);
  const never = await rawSubscriber(server, port);
  await until('a ping is heard', () => expect(dies.heard()).toContain('\x04PING'));
  dies.write(PONG);
  await until('the peer that fell silent is cut off', () => expect(dies.closed()).toBe(true));
  const pings = never.heard().split('\x04PING').length;
  await until('the other is asked again', () =>
    expect(never.heard().split('\x04PING').length).toBeGreaterThan(pings),
  );
  expect(never.closed()).toBe(false);
  expect(server.peers).toBe(1);
  expect(server.stats.silent).toBe(1);
});

test('a peer is asked as it connects, so that its silence means something from then on', async () => {
  const endpoint = 'tcp://127.0.0.1:*';
  // No second ping comes in this test.
  const server = keep(await PublishServer.bind({ endpoint, heartbeatIntervalMs: 60_000 }));
  const port = Number(server.endpoint.split(':').at(-1));
  const peer = await rawSubscriber(server, port);
  await until('a ping is heard', () => expect(peer.heard()).toContain('\x04PING'));
  const idle = keep(await PublishServer.bind({ endpoint, heartbeatIntervalMs: 0 }));
  const unasked = await rawSubscriber(idle, Number(idle.endpoint.split(':').at(-1)));
  unasked.write(encodeMessage([Buffer.from('\x01')]));
  await sendUntil(
    idle,
    ['after'],
    until('what is sent later is heard', () => expect(unasked.heard()).toMatch(/after/)),
  );
  expect(unasked.heard()).not.toContain('\x04PING');
});

test('a pause of the server is no silence of its peers', async () => {
  const { server, port } = await beating(300);
  const peer = await rawSubscriber(server, port);
  await until('a ping is heard', () => expect(peer.heard()).toContain('\x04PING'));
  peer.write(PONG);
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  // The pong is read. The whole process stands still, the peer with it: longer than any heartbeat
  // may take.
  const untilMs = performance.now() + 6_000;
  while (performance.now() < untilMs);
  await new Promise((resolve) => setImmediate(resolve));
  expect(peer.closed()).toBe(false);
  // From here on its silence counts.
  await until('the peer that stays silent is cut off', () => expect(peer.closed()).toBe(true));
});

test('a topic can be given up, and a peer with too many topics is disconnected', async () => {
  const { server, port } = await beating(10_000);
  const sub = await rawSubscriber(server, port);
  sub.write(encodeMessage([Buffer.from('\x01mine')]));
  await sendUntil(
    server,
    ['mine', 'first'],
    until('the message of the topic is heard', () => expect(sub.heard()).toMatch(/first/)),
  );
  sub.write(encodeMessage([Buffer.from('\x00mine')]));
  // What was given up is known to be so when what was asked for after it comes.
  sub.write(encodeMessage([Buffer.from('\x01other')]));
  const other = until('the message of the other topic is heard', () =>
    expect(sub.heard()).toMatch(/second/),
  );
  await sendUntil(server, ['other', 'second'], other);
  const before = sub.heard().split('first').length;
  await server.send([Buffer.from('mine'), Buffer.from('first')]);
  await server.send([Buffer.from('other'), Buffer.from('third')]);
  await until('the message after the topic was given up is heard', () =>
    expect(sub.heard()).toMatch(/third/),
  );
  expect(sub.heard().split('first')).toHaveLength(before);
  for (let n = 0; n < 65; n += 1) sub.write(encodeMessage([Buffer.from(`\x01topic-${n}`)]));
  await until('the peer with too many topics is cut off', () => expect(sub.closed()).toBe(true));
});

test('a subscriber that reads too slowly misses messages, others do not', async () => {
  const endpoint = 'tcp://127.0.0.1:*';
  const server = keep(await PublishServer.bind({ endpoint, hwm: 2, lingerMs: 0 }));
  const port = Number(server.endpoint.split(':').at(-1));
  const socket = connect({ host: '127.0.0.1', port });
  keep({ close: () => socket.destroy() });
  socket.pause();
  socket.write(handshake('SUB', ''));
  socket.write(encodeMessage([Buffer.from([1])]));
  const quick = keep(await ZmtpPeer.open({ port, socketType: 'SUB' }));
  quick.subscribe();
  await until('both subscribers are connected', () => expect(server.peers).toBe(2));
  const big = Buffer.alloc(4 << 20);
  await until('a message for the slow subscriber is dropped', async () => {
    await server.send([big]);
    expect((await quick.receive(2_000))[0]?.length).toBe(big.length);
    expect(server.stats.dropped).toBeGreaterThan(0);
    return true;
  });
  expect(server.peers).toBe(2);
});

test('a peer whose end takes nothing any more loses its connection', async () => {
  const { server, port } = await beating(500);
  const stuck = connect({ host: '127.0.0.1', port });
  keep({ close: () => stuck.destroy() });
  stuck.on('error', () => undefined);
  stuck.write(handshake('SUB', ''));
  await until('the peer that will be stuck is connected', () => expect(server.peers).toBe(1));
  stuck.write(encodeMessage([Buffer.from([1])]));
  stuck.pause();
  // The server does not report that it has taken note of a subscription.
  await workTakes(200);
  // More than both kernels' buffers hold: from then on nothing is acknowledged.
  for (let count = 0; count < 40; count += 1) await server.send([Buffer.alloc(1 << 20)]);
  await until('the stuck peer is cut off', () => expect(server.peers).toBe(0), {
    withinMs: 30_000,
  });
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
  await until('the subscriber hears the first server', async () => {
    await first.send([Buffer.from('one')]);
    expect(heard).toContain('one');
    return true;
  });
  await first.close();
  const second = await until('the port is free again', () =>
    PublishServer.bind({ endpoint: first.endpoint }),
  );
  keep(second);
  await until('the subscriber hears the second server', async () => {
    await second.send([Buffer.from('two')]);
    expect(heard).toContain('two');
    return true;
  });
});

test('an endpoint is made as Salt makes it, IPv6 in brackets', () => {
  expect(tcpEndpoint('0.0.0.0', 4505)).toBe('tcp://0.0.0.0:4505');
  expect(tcpEndpoint('::', 4505)).toBe('tcp://[::]:4505');
  expect(tcpEndpoint('[::1]', 0)).toBe('tcp://[::1]:*');
});
