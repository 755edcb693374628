import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectBus } from '@brine/bus';
import { ensureStreams } from '@brine/bus';
import { SERVICE_NAMES } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { waitUntilGone } from './leftover.ts';
import { resolveNatsServer } from './resolve.ts';
import { startNatsServer } from './start.ts';

let binary: string;
let dir: string;

beforeAll(async () => {
  binary = await resolveNatsServer({ env: process.env });
}, 600_000);

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-start-'));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

test('after a restart credentials, port, streams and known duplicates are the same', async () => {
  const first = await startNatsServer({ binary, dir });
  const event = { kind: 'ret', tag: 't', body: Buffer.from([0x80]), msgId: 'one' } as const;
  const bus = await connectBus({ url: first.urls['event-bus'], name: 'event-bus' });
  await ensureStreams(bus);
  expect(await new EventWriter(bus).append(event)).toEqual({ seq: 1, duplicate: false });
  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toEqual({ expected: false });
  await first.stop();

  const second = await startNatsServer({ binary, dir });
  expect(second.urls).toEqual(first.urls);
  // The connection that was there before goes on by itself.
  expect(await new EventWriter(bus, { timeoutMs: 10_000 }).append(event)).toEqual({
    seq: 1,
    duplicate: true,
  });
  await bus.close();
  await second.stop();
  expect(await second.exited).toEqual({ expected: true });
});

test('configuration and credentials are for their owner alone', async () => {
  const server = await startNatsServer({ binary, dir });
  try {
    for (const file of ['nats.conf', 'credentials.json']) {
      expect((await stat(join(dir, file))).mode & 0o777).toBe(0o600);
    }
    const passwords = Object.values(JSON.parse(await readFile(server.credentialsFile, 'utf8')));
    expect(new Set(passwords).size).toBe(SERVICE_NAMES.length);
    await expect(
      connectBus({ url: server.url, name: 'admin', connectTimeoutMs: 1_000 }),
    ).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  } finally {
    await server.stop();
  }
});

test('the server does not outlive a parent that is killed', async () => {
  const script = fileURLToPath(new URL('../../bus/test/start-server.ts', import.meta.url));
  const args = ['--conditions=source', '--import', 'tsx', script, binary, dir];
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  expect(pid).toBeGreaterThan(1);
  parent.kill('SIGKILL');
  expect(await waitUntilGone(pid, 10_000)).toBe(true);
});

test('a server that cannot start fails with the reason from its log', async () => {
  const server = await startNatsServer({ binary, dir });
  const other = await mkdtemp(join(tmpdir(), 'brine-start-'));
  try {
    await expect(
      startNatsServer({ binary, dir: other, port: server.port, readyTimeoutMs: 5_000 }),
    ).rejects.toMatchObject({
      code: 'BUS_SERVER_FAILED',
      message: expect.stringContaining('address already in use'),
    });
  } finally {
    await server.stop();
    await rm(other, { recursive: true, force: true });
  }
});
