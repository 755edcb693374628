// The returners that speak to programs and servers, with real ones: util-linux' logger, HTTP.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SyslogReturner } from './syslog-returner.ts';
import { ElasticsearchReturner, HttpReturner } from './web-returners.ts';

interface Asked {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type HttpOptions = ConstructorParameters<typeof HttpReturner>[0]['brine']['eventHttp'];

let dir: string;
let asked: Asked[];
const servers: { close(then: () => void): unknown }[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-targets-'));
  asked = [];
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    await new Promise<void>((resolve) => server.close(resolve));
  }
  await rm(dir, { recursive: true });
});

const event = (n: number) => {
  return {
    tag: `t/${n}`,
    timeMs: 1_764_000_000_000 + n,
    data: pack(mapOf({ n })),
    position: `p${n}`,
  };
};
const batch = { events: [event(1), event(2)], from: 'p0', to: 'p2' };

/** A web server that keeps what it was asked. */
async function serveWeb(answer: (line: string) => [status: number, body: string]): Promise<string> {
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const line = `${request.method} ${request.url}`;
      asked.push({ line, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const [status, body] = answer(line);
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(body);
    });
  };
  const server: Server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('http: one POST for a batch, under the same key when it is tried again', async () => {
  let status = 503;
  const address = await serveWeb(() => [status, 'soon']);
  const eventHttp: HttpOptions = {
    url: `http://${address}/in`,
    headers: { 'x-site': 'north' },
    verify: true,
    caBundle: undefined,
  };
  const returner = new HttpReturner({ brine: { eventHttp } as never });
  await expect(returner.write(batch)).rejects.toMatchObject({ failure: 'away' });
  status = 200;
  await returner.write(batch);
  status = 422;
  await expect(returner.write(batch)).rejects.toMatchObject({ failure: 'refused' });
  expect(asked.map(({ line }) => line)).toEqual(['POST /in', 'POST /in', 'POST /in']);
  expect(JSON.parse(asked[1]!.body)).toEqual([
    { tag: 't/1', data: { n: 1 } },
    { tag: 't/2', data: { n: 2 } },
  ]);
  expect(new Set(asked.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  expect(asked[0]!.headers).toMatchObject({
    'x-site': 'north',
    'content-type': 'application/json',
  });
});

test('elasticsearch: the index is made, and what is there already counts as written', async () => {
  const created = JSON.stringify({
    errors: true,
    items: [{ create: { status: 201 } }, { create: { status: 409, error: {} } }],
  });
  const address = await serveWeb((line) => {
    if (line.startsWith('HEAD')) return [404, ''];
    return [200, line.startsWith('PUT') ? '{"acknowledged":true}' : created];
  });
  const written = {
    elasticsearch: { hosts: ['127.0.0.1:9', address], username: 'u', password: 'p' },
  };
  const returner = new ElasticsearchReturner({ written });
  await expect(returner.write(batch)).rejects.toMatchObject({ failure: 'away' });
  await returner.write(batch);
  expect(asked.map(({ line }) => line)).toEqual([
    'HEAD /salt-master-event-cache',
    'PUT /salt-master-event-cache-v1',
    'POST /_bulk',
  ]);
  const lines = asked[2]!.body.trimEnd().split('\n');
  const documents = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(documents[0]).toMatchObject({ create: { _index: 'salt-master-event-cache' } });
  expect(documents[1]).toMatchObject({ tag: 't/1', data: { n: 1 } });
  expect(asked[2]!.headers.authorization).toBe('Basic dTpw');
});

/** A syslog at a socket of its own, and a program that sends what logger sends there. */
async function syslog(): Promise<{ program: string; said: () => string }> {
  let said = '';
  const server = createSocketServer((socket) => {
    socket.on('data', (chunk: Buffer) => (said += chunk.toString()));
  });
  servers.push(server);
  const path = join(dir, 'log');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const program = join(dir, 'logger');
  await writeFile(program, `#!/bin/sh\nexec logger --socket ${path} "$@"\n`, { mode: 0o755 });
  return { program, said: () => said };
}

test('syslog: each event is a message of logger, with the facility of the options', async () => {
  const { program, said } = await syslog();
  const options = { facility: 'LOG_LOCAL3', level: 'LOG_ERR', tag: 'events' };
  await new SyslogReturner({ written: { syslog: options } }, program).write(batch);
  await expect.poll(said).toContain('{"tag":"t/2","data":{"n":2}}');
  // local3.err
  expect(said()).toMatch(/<155>.* events: \{"tag":"t\/1","data":\{"n":1\}\}/);
});

test('syslog: where no syslog listens, events wait', async () => {
  const program = join(dir, 'logger');
  await writeFile(program, `#!/bin/sh\nexec logger --socket ${dir}/none "$@"\n`, { mode: 0o755 });
  const writing = new SyslogReturner({ written: {} }, program).write(batch);
  await expect(writing).rejects.toMatchObject({ failure: 'away' });
});
