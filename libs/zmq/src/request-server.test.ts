import { ZmtpPeer } from '@brine/testing';
import { afterEach, expect, test, vi } from 'vitest';

import { RequestClient, RequestServer, type ZmqRequest } from './index.ts';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function bind(maxMessageBytes = 1 << 20): Promise<RequestServer> {
  const server = await RequestServer.bind({ endpoint: 'tcp://127.0.0.1:*', maxMessageBytes });
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

/** Answers every request by its body and the word given. */
async function echo(server: RequestServer): Promise<void> {
  for await (const request of server) {
    await server.reply(request.peer, Buffer.concat([request.body, Buffer.from('!')]));
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
  const reply = await client(server).request(Buffer.from('ping'), { timeoutMs: 2000 });
  expect(reply.toString()).toBe('ping!');
  expect(server.stats).toMatchObject({ received: 1, replied: 1, malformed: 0 });
});

test('replies given in another order reach the peers that asked', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const first = client(server).request(Buffer.from('a'), { timeoutMs: 2000 });
  const one = await next(requests);
  const second = client(server).request(Buffer.from('b'), { timeoutMs: 2000 });
  const two = await next(requests);
  await server.reply(two.peer, two.body);
  await server.reply(one.peer, one.body);
  expect((await first).toString()).toBe('a');
  expect((await second).toString()).toBe('b');
});

test('one client sends its requests one after the other', async () => {
  const server = await bind();
  void echo(server);
  const one = client(server);
  const replies = await Promise.all(
    ['a', 'b', 'c'].map((text) => one.request(Buffer.from(text), { timeoutMs: 2000 })),
  );
  expect(replies.map(String)).toEqual(['a!', 'b!', 'c!']);
});

test('after a time-out the client goes on with a fresh socket', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const one = client(server);
  await expect(one.request(Buffer.from('a'), { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'SALT_ZMQ_TIMEOUT',
    retryable: true,
  });
  const late = await next(requests);
  const again = one.request(Buffer.from('b'), { timeoutMs: 2000 });
  await server.reply(late.peer, Buffer.from('late'));
  const fresh = await next(requests);
  await server.reply(fresh.peer, Buffer.from('fresh'));
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
  expect((await polite.request(Buffer.from('ok'), 2000)).toString()).toBe('ok!');
  await vi.waitFor(() => expect(server.stats.malformed).toBe(2));
  await expect(rude.receive(50)).rejects.toThrow('nothing received');
});

test('a frame that announces too many bytes ends its connection only', async () => {
  const server = await bind(1000);
  void echo(server);
  const good = await peer(server);
  const hostile = await peer(server);
  hostile.send([Buffer.alloc(0), Buffer.alloc(1001)]);
  await expect(hostile.receive(2000)).rejects.toThrow('connection closed');
  const liar = await peer(server);
  liar.raw(Buffer.from([1, 0, 2, 0, 0, 0x7f, 255, 255, 255, 255, 255]));
  await expect(liar.receive(2000)).rejects.toThrow('connection closed');
  expect((await good.request(Buffer.alloc(999), 2000)).length).toBe(1000);
});

test('a late reply does not reach a newer request under the same identity', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const before = await peer(server, 'salt-req/minion/a/0');
  before.send([Buffer.alloc(0), Buffer.from('first')]);
  const first = await next(requests);
  const after = await peer(server, 'salt-req/minion/a/0');
  after.send([Buffer.alloc(0), Buffer.from('second')]);
  const second = await next(requests);
  expect(second.peer.equals(first.peer)).toBe(true);
  await server.reply(first.peer, Buffer.from('late'), first.turn);
  await server.reply(second.peer, Buffer.from('right'), second.turn);
  expect((await after.receive(2000))[1]?.toString()).toBe('right');
  expect(server.stats.stale).toBe(1);
});

test('a reply to a peer that has gone is dropped without an error', async () => {
  const server = await bind();
  const requests = server[Symbol.asyncIterator]();
  const gone = await peer(server);
  gone.send([Buffer.alloc(0), Buffer.from('bye')]);
  const request = await next(requests);
  gone.close();
  await new Promise((done) => setTimeout(done, 50));
  await server.reply(request.peer, Buffer.from('?'));
  expect(server.stats.replied).toBe(1);
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
  await expect(server.reply(Buffer.from('x'), Buffer.from('y'))).rejects.toMatchObject({
    code: 'SALT_ZMQ_CLOSED',
  });
});

test('a server that goes away with a request in hand is noticed at once', async () => {
  const server = await bind();
  const peerOfIt = client(server);
  const answer = peerOfIt.request(Buffer.from('taken'), { timeoutMs: 20_000 });
  const taken = server[Symbol.asyncIterator]();
  expect((await taken.next()).done).toBe(false);
  const startedAt = performance.now();
  await server.close();
  await expect(answer).rejects.toMatchObject({ code: 'SALT_ZMQ_LOST', retryable: true });
  expect(performance.now() - startedAt).toBeLessThan(10_000);
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
