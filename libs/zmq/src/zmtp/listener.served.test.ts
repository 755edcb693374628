import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { until } from '@brine/testing/waits';
import { afterEach, expect, test } from 'vitest';
import { RequestServer, type RequestServerOptions } from '../request-server.ts';

/** What /proc/net/tcp calls the timer of a connection that is probed when it is idle. */
const KEEPALIVE = '02';
const TICKS_PER_SECOND = 100;

let server: RequestServer | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

async function bind(options: Partial<RequestServerOptions> = {}): Promise<number> {
  server = await RequestServer.bind({
    endpoint: 'tcp://127.0.0.1:*',
    maxMessageBytes: 65_536,
    ...options,
  });
  return Number(server.endpoint.split(':').at(-1));
}

async function reach(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port });
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** The timer of the server's end of a connection, and when it fires, in seconds. */
function timerOf(port: number, peer: number): { kind: string; inSeconds: number } | undefined {
  const hex = (one: number): string => one.toString(16).toUpperCase().padStart(4, '0');
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const fields = rows
    .map((row) => row.trim().split(/\s+/))
    .find(([, own, other]) => own?.endsWith(`:${hex(port)}`) && other?.endsWith(`:${hex(peer)}`));
  const [kind, when] = fields?.[5]?.split(':') ?? [];
  if (kind === undefined || when === undefined) return undefined;
  return { kind, inSeconds: Number.parseInt(when, 16) / TICKS_PER_SECOND };
}

test.each([
  [undefined, 300],
  [60_000, 60],
])('an idle connection is probed after %s ms', async (keepAliveMs, seconds) => {
  const port = await bind(keepAliveMs === undefined ? {} : { keepAliveMs });
  const { localPort = 0 } = await reach('127.0.0.1', port);
  const timer = await until('the timer is set', () => {
    const found = timerOf(port, localPort);
    return found?.kind === KEEPALIVE ? found : undefined;
  });
  expect(timer.inSeconds).toBeGreaterThan(seconds - 15);
  expect(timer.inSeconds).toBeLessThanOrEqual(seconds);
});

test('with 0 ms it is not', async () => {
  const port = await bind({ keepAliveMs: 0 });
  const { localPort = 0 } = await reach('127.0.0.1', port);
  await until('the greeting is acknowledged', () => timerOf(port, localPort)?.kind === '00');
});

test('an interface of :: is reached by both families', async () => {
  const port = await bind({ endpoint: 'tcp://[::]:*' });
  for (const host of ['127.0.0.1', '::1']) {
    const [greeting] = (await once(await reach(host, port), 'data')) as [Buffer];
    expect(greeting[0]).toBe(0xff);
  }
});
