import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { magicPacket, wake } from './wake.ts';
import { askWeb, type WebRequest } from './web.ts';

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function requestTo(url: string, more: Partial<WebRequest> = {}): WebRequest {
  return {
    url,
    method: 'GET',
    headers: new Map<string, string>(),
    verify: true,
    connectTimeoutMs: 5_000,
    timeoutMs: 5_000,
    maxBytes: 1_000,
    ...more,
  };
}

test('an answer has its status, headers and body', async () => {
  const url = await serve((request, response) => {
    response.writeHead(418, 'Teapot', {
      'X-Method': request.method ?? '',
      'Set-Cookie': ['a', 'b'],
    });
    request.pipe(response);
  });
  const answer = await askWeb(requestTo(url, { method: 'PUT', body: 'tea' }));
  expect(answer).toMatchObject({ status: 418, reason: 'Teapot' });
  expect(Buffer.from(answer.body).toString()).toBe('tea');
  expect(answer.headers.get('x-method')).toBe('PUT');
  expect(answer.headers.get('set-cookie')).toBe('a, b');
});

test('redirections are followed, and another server gets no credentials', async () => {
  const seen: string[] = [];
  const other = await serve((request, response) => {
    seen.push(`${request.method} ${request.headers.authorization ?? 'none'}`);
    response.end('there');
  });
  const url = await serve((request, response) => {
    const location = request.url === '/' ? '/next' : `${other}/x`;
    seen.push(`${request.method} ${request.headers.authorization ?? 'none'}`);
    response.writeHead(302, { Location: location }).end();
  });
  const headers = new Map([['Authorization', 'Basic x']]);
  const answer = await askWeb(requestTo(url, { method: 'POST', body: 'b', headers }));
  expect(Buffer.from(answer.body).toString()).toBe('there');
  expect(seen).toEqual(['POST Basic x', 'GET Basic x', 'GET none']);
});

test('redirections without end, to a file, and a large or late answer are errors', async () => {
  const loop = await serve((_request, response) => {
    response.writeHead(302, { Location: '/' }).end();
  });
  await expect(askWeb(requestTo(loop))).rejects.toThrow('more than 5 redirections');
  const toFile = await serve((_request, response) => {
    response.writeHead(302, { Location: 'file:///etc/passwd' }).end();
  });
  await expect(askWeb(requestTo(toFile))).rejects.toThrow('no web address');
  const large = await serve((_request, response) => void response.end('x'.repeat(2_000)));
  await expect(askWeb(requestTo(large))).rejects.toThrow('more than 1000 bytes');
  const silent = await serve(() => undefined);
  await expect(askWeb(requestTo(silent, { timeoutMs: 200 }))).rejects.toThrow('Timeout');
});

test('a bundle of certificates is a file, and not too large', async () => {
  const url = await serve((_request, response) => void response.end());
  for (const caBundle of ['/dev/zero', '/tmp']) {
    await expect(askWeb(requestTo(url, { caBundle }))).rejects.toThrow('no bundle');
  }
});

test('an unreachable server is an error with Python’s text', async () => {
  const url = await serve(() => undefined);
  const [server] = servers.splice(0);
  await new Promise((resolve) => server?.close(resolve));
  await expect(askWeb(requestTo(url))).rejects.toThrow('[Errno 111] Connection refused');
});

test('the packet that wakes a machine is sent by UDP', async () => {
  const mac = Buffer.from('080027136977', 'hex');
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const received = once(socket, 'message');
  await wake(mac, '127.0.0.1', socket.address().port);
  const [packet] = (await received) as [Buffer];
  socket.close();
  expect(packet.length).toBe(102);
  expect(packet.equals(magicPacket(mac))).toBe(true);
  expect(packet.subarray(0, 12).toString('hex')).toBe('ffffffffffff080027136977');
  await expect(wake(mac, 'localhost', 9)).rejects.toThrow('no IPv4 address');
  expect(() => magicPacket(mac.subarray(1))).toThrow(RangeError);
});
