import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { notifySocket } from '@brine/testing/hosts';
import { until } from '@brine/testing/waits';
import { expect, onTestFinished, test } from 'vitest';
import { isWell, serviceManager } from './service-manager.ts';

async function listening() {
  const dir = mkdtempSync(join(tmpdir(), 'brine-notify-'));
  const socket = await notifySocket(join(dir, 'notify'));
  onTestFinished(() => {
    socket[Symbol.dispose]();
    rmSync(dir, { recursive: true });
  });
  const env: Record<string, string | undefined> = {
    PATH: process.env['PATH'],
    NOTIFY_SOCKET: socket.path,
  };
  return { socket, env };
}

const fail = (text: string): never => {
  throw new Error(text);
};

test('a service manager hears each state in its order', async () => {
  const { socket, env } = await listening();
  const manager = serviceManager(env, fail);
  expect(manager.listens).toBe(true);
  expect(env['NOTIFY_SOCKET']).toBe(undefined);
  await Promise.all([
    manager.ready('all serve'),
    manager.reloading(() => undefined),
    manager.stopping(),
  ]);
  expect(socket.words.map((word) => word.replace(/\d{3,}/, '<time>'))).toEqual([
    ...['READY=1', 'STATUS=all serve', 'RELOADING=1', 'MONOTONIC_USEC=<time>'],
    ...['STOPPING=1', 'STATUS=stopping'],
  ]);
});

test('a reload is reported while the master serves, not while it starts or stops', async () => {
  const { socket, env } = await listening();
  const manager = serviceManager(env, fail);
  const seen: number[] = [];
  const reload = (): void => void seen.push(socket.words.length);
  await manager.reloading(reload);
  expect([seen, socket.words]).toEqual([[0], []]);
  await manager.ready('all serve');
  await manager.reloading(reload);
  await manager.stopping();
  await manager.reloading(reload);
  expect(seen).toEqual([0, 4, 8]);
  expect(socket.words.filter((word) => !/^(?:STATUS|MONOTONIC)/.test(word))).toEqual([
    ...['READY=1', 'RELOADING=1', 'READY=1', 'STOPPING=1'],
  ]);
});

test('its watchdog hears of this process while all is well, and no longer', async () => {
  const { socket, env } = await listening();
  env['WATCHDOG_USEC'] = '1000000';
  env['WATCHDOG_PID'] = String(process.pid);
  let isWell = true;
  const manager = serviceManager(env, fail);
  const end = manager.watch(() => isWell);
  onTestFinished(end);
  const beats = (): number => socket.words.filter((word) => word === 'WATCHDOG=1').length;
  await until('three beats', () => beats() >= 3);
  isWell = false;
  const before = beats();
  // One may be on its way.
  await until('no more come', () => beats() <= before + 1 && socket.words.length > 0);
  end();
  await manager.stopping();
});

test('its watchdog hears of a master of which one service waits for PostgreSQL', async () => {
  const { socket, env } = await listening();
  env['WATCHDOG_USEC'] = '1000000';
  const services = [{ state: 'ready' }, { state: 'starting' }] as const;
  const manager = serviceManager(env, fail);
  const end = manager.watch(() => isWell(services));
  onTestFinished(end);
  const beats = (): number => socket.words.filter((word) => word === 'WATCHDOG=1').length;
  await until('three beats', () => beats() >= 3);
  end();
  // A beat may be on its way.
  await manager.stopping();
});

test.each([
  ['ready', true],
  ['starting', true],
  // The supervisor starts it again.
  ['waiting', true],
  ['stopped', false],
] as const)('a master with a service that is %s is well: %s', (state, well) => {
  expect(isWell([{ state: 'ready' }, { state }])).toBe(well);
});

test('a watchdog of another process hears nothing', async () => {
  const { socket, env } = await listening();
  env['WATCHDOG_USEC'] = '1000000';
  env['WATCHDOG_PID'] = '1';
  const manager = serviceManager(env, fail);
  onTestFinished(manager.watch(() => true));
  await manager.ready('x');
  expect(socket.words).toEqual(['READY=1', 'STATUS=x']);
});

test('without one nothing is started, and a broken one is reported once', async () => {
  const none = serviceManager({}, fail);
  expect(none.listens).toBe(false);
  await none.ready('x');
  const troubles: string[] = [];
  const env = { PATH: process.env['PATH'], NOTIFY_SOCKET: '/nonexistent/notify' };
  const broken = serviceManager(env, (text) => void troubles.push(text));
  await broken.ready('x');
  await broken.stopping();
  expect(troubles).toHaveLength(1);
  expect(troubles[0]).toMatch(/^the service manager was not notified: /);
});
