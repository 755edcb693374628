import { connect } from 'node:net';
import { ZmtpPeer } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterEach, expect, test } from 'vitest';
import {
  RequestClient,
  RequestServer,
  type RequestServerOptions,
  type ZmqRequest,
} from './index.ts';
import { encodeRequest, handshake } from './zmtp/frames.ts';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function bind(
  maxMessageBytes = 1 << 20,
  bounds: Partial<RequestServerOptions> = {},
): Promise<RequestServer> {
  const endpoint = 'tcp://127.0.0.1:*';
  const server = await RequestServer.bind({ endpoint, maxMessageBytes, ...bounds });
  open.push(server);
  return server;
}

function portOf(server: RequestServer): number {
  return Number(server.endpoint.split(':').at(-1));
}

function client(server: RequestServer): RequestClient {
  const made = new RequestClient({ endpoint: server.endpoint });
  open.push(made);
  return made;
}

async function peer(server: RequestServer, identity = ''): Promise<ZmtpPeer> {
  const made = await ZmtpPeer.open({ port: portOf(server), identity });
  open.push(made);
  return made;
}

/** A socket that speaks no ZMTP by itself. */
async function rawPeer(server: RequestServer) {
  const socket = connect(portOf(server), '127.0.0.1');
  const chunks: Buffer[] = [];
  let ended = false;
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => (ended = true));
  socket.on('close', () => (ended = true));
  open.push({ close: () => socket.destroy() });
  await new Promise((connected) => socket.once('connect', connected));
  return {
    write: (bytes: Buffer) => socket.write(bytes),
    heard: () => Buffer.concat(chunks),
    closed: () => ended,
    stopReading: () => socket.pause(),
  };
}

/** Answers every request by its body and the word given. */
async function echo(server: RequestServer): Promise<void> {
  for await (const request of server) {
    server.reply(request.peer, Buffer.concat([request.body, Buffer.from('!')]));
  }
}

async function next(server: AsyncIterator<ZmqRequest>): Promise<ZmqRequest> {
  const result = await server.next();
  if (result.done === true) throw new Error('the server ended');
  return result.value;
}

test('a REQ client gets the reply to its request', async () => {
  const server = await bind();
  void echo(server);
  const reply = await client(server).request(Buffer.from('ping'), { timeoutMs: 10_000 });
  expect(reply.toString()).toBe('ping!');
  expect(server.stats).toMatchObject({ received: 1, replied: 1, malformed: 0 });
});

test('replies given in another order reach the peers that asked', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const first = client(server).request(Buffer.from('a'), { timeoutMs: 10_000 });
  const one = await next(requests);
  const second = client(server).request(Buffer.from('b'), { timeoutMs: 10_000 });
  const two = await next(requests);
  server.reply(two.peer, two.body);
  server.reply(one.peer, one.body);
  expect((await first).toString()).toBe('a');
  expect((await second).toString()).toBe('b');
});

test('one client sends its requests one after the other', async () => {
  const server = await bind();
  void echo(server);
  const one = client(server);
  const replies = await Promise.all(
    ['a', 'b', 'c'].map((text) => one.request(Buffer.from(text), { timeoutMs: 10_000 })),
  );
  expect(replies.map(String)).toEqual(['a!', 'b!', 'c!']);
});

test('after a time-out the client goes on with a fresh socket', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const one = client(server);
  const unheard = one.request(Buffer.from('a'), { timeoutMs: 1_000 });
  const late = await next(requests);
  await expect(unheard).rejects.toMatchObject({ code: 'SALT_ZMQ_TIMEOUT', retryable: true });
  const again = one.request(Buffer.from('b'), { timeoutMs: 10_000 });
  server.reply(late.peer, Buffer.from('late'));
  const fresh = await next(requests);
  server.reply(fresh.peer, Buffer.from('fresh'));
  expect((await again).toString()).toBe('fresh');
});

test('an aborted request and a closed client end with their own codes', async () => {
  const server = await bind();
  const one = client(server);
  const stop = new AbortController();
  const aborted = one.request(Buffer.from('a'), { timeoutMs: 5000, signal: stop.signal });
  stop.abort();
  await expect(aborted).rejects.toMatchObject({ code: 'SALT_ZMQ_ABORTED' });
  const cut = one.request(Buffer.from('b'), { timeoutMs: 5000 });
  await one.close();
  await expect(cut).rejects.toMatchObject({ code: 'SALT_ZMQ_CLOSED' });
});

test('a peer without the empty delimiter is counted and not served', async () => {
  const server = await bind();
  void echo(server);
  const rude = await peer(server);
  rude.send([Buffer.from('no delimiter')]);
  rude.send([Buffer.from('x'), Buffer.from('y')]);
  const polite = await peer(server);
  expect((await polite.request(Buffer.from('ok'), 10_000)).toString()).toBe('ok!');
  await until('both malformed messages are counted', () => expect(server.stats.malformed).toBe(2));
  await expect(rude.receive(50)).rejects.toThrow('nothing received');
});

test('a frame that announces too many bytes ends its connection only', async () => {
  const server = await bind(1000);
  void echo(server);
  const good = await peer(server);
  const hostile = await peer(server);
  hostile.send([Buffer.alloc(0), Buffer.alloc(1001)]);
  await expect(hostile.receive(10_000)).rejects.toThrow('connection closed');
  const liar = await peer(server);
  liar.raw(Buffer.from([1, 0, 2, 0, 0, 0x7f, 255, 255, 255, 255, 255]));
  await expect(liar.receive(10_000)).rejects.toThrow('connection closed');
  expect((await good.request(Buffer.alloc(999), 10_000)).length).toBe(1000);
});

test('two connections under one identity are two peers: each gets its own reply', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const before = await peer(server, 'salt-req/minion/a/0');
  before.send([Buffer.alloc(0), Buffer.from('first')]);
  const first = await next(requests);
  const after = await peer(server, 'salt-req/minion/a/0');
  after.send([Buffer.alloc(0), Buffer.from('second')]);
  const second = await next(requests);
  server.reply(first.peer, Buffer.from('to the first'));
  server.reply(second.peer, Buffer.from('right'));
  expect((await after.receive(10_000))[1]?.toString()).toBe('right');
  expect((await before.receive(10_000))[1]?.toString()).toBe('to the first');
});

test('a peer that has hung up is known to be gone, and a reply to it is not sent', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const leaves = await peer(server);
  leaves.send([Buffer.alloc(0), Buffer.from('bye')]);
  const request = await next(requests);
  expect(request.peer).toMatchObject({ gone: false, address: '127.0.0.1' });
  leaves.close();
  await until('the peer is seen to be gone', () => expect(request.peer.gone).toBe(true));
  expect(server.reply(request.peer, Buffer.from('?'))).toBe(false);
  expect(server.stats).toMatchObject({ connections: 0, received: 1, replied: 0 });
});

test('a ping is answered, and unknown commands are ignored', async () => {
  const server = await bind();
  void echo(server);
  const raw = await rawPeer(server);
  raw.write(handshake('DEALER', ''));
  raw.write(Buffer.from('\x04\x09\x04PING\x00\x0aab', 'latin1'));
  raw.write(Buffer.from('\x04\x06\x05NOISE', 'latin1'));
  raw.write(encodeRequest([Buffer.from('x')]));
  const wanted = Buffer.concat([
    Buffer.from('\x04\x07\x04PONGab', 'latin1'),
    encodeRequest([Buffer.from('x!')]),
  ]);
  await until('the pong and the reply are heard', () =>
    expect(raw.heard().subarray(-wanted.length)).toEqual(wanted),
  );
});

test('a peer that is silent half way loses its connection, and no other does', async () => {
  const server = await bind(1 << 20, { patienceMs: 300 });
  void echo(server);
  const waiting = await peer(server);
  const stranger = await rawPeer(server);
  const halfWay = await peer(server);
  halfWay.raw(encodeRequest([Buffer.alloc(1000)]).subarray(0, 500));
  const noZmtp = await rawPeer(server);
  noZmtp.write(Buffer.from('GET / HTTP/1.1\r\n'.padEnd(80)));
  await until('the peer without ZMTP is hung up on', () => expect(noZmtp.closed()).toBe(true));
  await until('the other silent peers are hung up on', () =>
    expect([stranger.closed(), halfWay.closed]).toEqual([true, true]),
  );
  expect(String(await waiting.request(Buffer.from('here'), 10_000))).toBe('here!');
  expect(server.stats).toMatchObject({ connections: 1, hungUp: 3 });
});

test('of too many unfinished messages the last begun are given up', async () => {
  const server = await bind(100_000, { maxUnfinishedBytes: 100_000 });
  void echo(server);
  const half = encodeRequest([Buffer.alloc(90_000)]);
  const first = await peer(server);
  first.raw(half.subarray(0, 60_000));
  const second = await peer(server);
  second.raw(half.subarray(0, 60_000));
  await until('the second peer is hung up on', () => expect(second.closed).toBe(true));
  first.raw(half.subarray(60_000));
  expect((await first.receive(10_000))[1]?.length).toBe(90_001);
});

test('a peer that sends on and on without reading, or asks too much at once, is hung up on', async () => {
  const server = await bind(1 << 20, { patienceMs: 300, perPeerQueue: 4 });
  const requests = server[Symbol.asyncIterator]();
  const greedy = await peer(server);
  for (let n = 0; n < 5; n += 1) greedy.send([Buffer.alloc(0), Buffer.from('more')]);
  await until('the greedy peer is hung up on', () => expect(greedy.closed).toBe(true));
  const deaf = await rawPeer(server);
  deaf.write(handshake('DEALER', ''));
  deaf.stopReading();
  const big = Buffer.alloc(1 << 20);
  let peerOfDeaf: ZmqRequest['peer'] | undefined;
  for (let n = 0; n < 4; n += 1) {
    deaf.write(encodeRequest([Buffer.from('give')]));
    let request = await next(requests);
    while (String(request.body) !== 'give') request = await next(requests);
    peerOfDeaf = request.peer;
    for (let copies = 0; copies < 8; copies += 1) server.reply(request.peer, big);
  }
  await until('the deaf peer is hung up on', () => expect(peerOfDeaf?.gone).toBe(true));
});

test('closing ends the iteration, and a taken port is a typed error', async () => {
  const server = await bind();
  const ended = echo(server);
  await expect(
    RequestServer.bind({ endpoint: server.endpoint, maxMessageBytes: 10 }),
  ).rejects.toMatchObject({ code: 'SALT_ZMQ_BIND' });
  await server.close();
  await server.close();
  await expect(ended).resolves.toBeUndefined();
});

test('a server that goes away with a request in hand is noticed at once', async () => {
  const server = await bind();
  const peerOfIt = client(server);
  // Without notice of the loss it would wait until after this test.
  const answer = peerOfIt.request(Buffer.from('taken'), { timeoutMs: 600_000 });
  const taken = server[Symbol.asyncIterator]();
  expect((await taken.next()).done).toBe(false);
  await server.close();
  await expect(answer).rejects.toMatchObject({ code: 'SALT_ZMQ_LOST', retryable: true });
});

test('after a loss the client reaches the next server on the same port', async () => {
  const first = await bind();
  const endpoint = first.endpoint;
  const asker = client(first);
  const lost = asker.request(Buffer.from('a'), { timeoutMs: 20_000 });
  await first[Symbol.asyncIterator]().next();
  await first.close();
  await expect(lost).rejects.toMatchObject({ code: 'SALT_ZMQ_LOST' });
  const second = await RequestServer.bind({ endpoint, maxMessageBytes: 1 << 20 });
  open.push(second);
  void echo(second);
  expect(String(await asker.request(Buffer.from('b'), { timeoutMs: 20_000 }))).toBe('b!');
});
