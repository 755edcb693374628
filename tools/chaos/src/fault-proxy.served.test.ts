import { once } from 'node:events';
import {
  type AddressInfo,
  createConnection,
  createServer,
  type Server,
  type Socket,
} from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FaultProxy } from './fault-proxy.ts';

let server: Server;
let proxy: FaultProxy;
/** Of the same server; nothing is done to it. */
let other: FaultProxy;
/** What the server has heard, all connections together. */
let heard = '';
const atServer: Socket[] = [];
const clients: Socket[] = [];

beforeEach(async () => {
  heard = '';
  server = createServer((socket) => {
    atServer.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      heard += chunk.toString();
      socket.write(`>${chunk.toString()}`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const listening = () => FaultProxy.listen(async () => ({ host: '127.0.0.1', port }));
  [proxy, other] = [await listening(), await listening()];
});
afterEach(async () => {
  for (const socket of [...clients.splice(0), ...atServer.splice(0)]) socket.destroy();
  await Promise.all([proxy.close(), other.close()]);
  await new Promise((resolve) => server.close(resolve));
});

async function connect({ port } = proxy): Promise<Socket> {
  const socket = createConnection({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  clients.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** Also where it is reset. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

async function ask(socket: Socket, text: string): Promise<string> {
  const answer = once(socket, 'data');
  socket.write(text);
  const [chunk] = (await answer) as [Buffer];
  return chunk.toString();
}

test('bytes arrive both ways, and a megabyte as it was', async () => {
  const socket = await connect();
  expect(await ask(socket, 'hello')).toBe('>hello');
  const sent = 'x'.repeat(1_048_576);
  let back = '';
  socket.on('data', (chunk) => (back += chunk.toString()));
  socket.write(sent);
  await expect.poll(() => back.replaceAll('>', '').length).toBe(sent.length);
});

test('a cut resets the connections, all or one, and new ones get through', async () => {
  const sockets = [await connect(), await connect(), await connect()];
  await Promise.all(sockets.map((socket) => ask(socket, 'a')));
  expect(proxy.cut(0)).toBe(1);
  await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBe(1);
  expect(proxy.cut()).toBe(2);
  await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBe(3);
  await expect.poll(() => proxy.connections).toBe(0);
  expect(await ask(await connect(), 'again')).toBe('>again');
});

test('while it is stalled connections stand and sent bytes wait', async () => {
  const socket = await connect();
  await ask(socket, '1');
  proxy.stall('both');
  let answered = false;
  const answer = ask(socket, '2').then((text) => {
    answered = true;
    return text;
  });
  const late = await connect();
  const lateAnswer = ask(late, '3');
  // What was sent later, another way, is answered.
  expect(await ask(await connect(other), '4')).toBe('>4');
  expect({ answered, heard, destroyed: socket.destroyed }).toEqual({
    answered: false,
    heard: '14',
    destroyed: false,
  });
  proxy.mend();
  expect(await answer).toBe('>2');
  expect(await lateAnswer).toBe('>3');
});

test('a stall of one way lets the other one through', async () => {
  const socket = await connect();
  await ask(socket, '1');
  proxy.stall('to-client');
  const answer = ask(socket, '2');
  await expect.poll(() => heard).toBe('12');
  proxy.mend();
  expect(await answer).toBe('>2');
});

test('while it refuses no connection gets in', async () => {
  const socket = await connect();
  await ask(socket, '1');
  proxy.refuse();
  await expect.poll(() => socket.destroyed).toBe(true);
  const refused = createConnection({ port: proxy.port, host: '127.0.0.1' });
  refused.on('error', () => undefined);
  clients.push(refused);
  await closed(refused);
  expect(heard).toBe('1');
  proxy.mend();
  expect(await ask(await connect(), '2')).toBe('>2');
});

test('where the server is not there a client is reset, as without a proxy', async () => {
  const gone = await FaultProxy.listen(() => Promise.reject(new Error('not started')));
  try {
    const socket = createConnection({ port: gone.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    clients.push(socket);
    await closed(socket);
    expect(gone.connections).toBe(0);
  } finally {
    await gone.close();
  }
});
