import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { type HealthServer, startHealth } from '@brine/service';
import { stateFile } from '@brine/service/processes';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { drawStatus, readStatus } from './host-status.ts';

let dir: string;
let options: MasterOptions;
let servers: HealthServer[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-status-'));
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\nid: m1\npki_dir: pki\n`);
  options = loadMasterConfig({ configDir: dir, env: {} }).options;
  for (const shelf of ['minions', 'minions_pre', 'minions_rejected', 'minions_denied']) {
    mkdirSync(join(dir, 'pki', shelf), { recursive: true });
  }
  mkdirSync(join(dir, 'pki', 'minions_autosign'));
  writeFileSync(join(dir, 'pki', 'minions', 'web1.example'), 'PEM');
});

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
  rmSync(dir, { recursive: true, force: true });
});

/** Services as a supervisor would have written them; the supervisor is the parent of the tests. */
async function runningServices(ready: Record<string, boolean>): Promise<void> {
  const services = [];
  for (const [name, isReady] of Object.entries(ready)) {
    const source = {
      ready: () => isReady,
      metrics: () => Promise.resolve(''),
      status: () => ({
        name,
        pid: 7,
        queue: { aes: 3, auth: 0 },
        crypto: 'native',
        node: '20.20.2',
      }),
    };
    const server = await startHealth(source, { host: '127.0.0.1', port: 0 });
    servers.push(server);
    const startedAt = new Date(Date.now() - 65_000).toISOString();
    const healthPort = server.port;
    services.push({ name, state: 'ready', pid: 7, healthPort, startedAt, restarts: 1 });
  }
  const path = stateFile(options.brine.stateDir);
  mkdirSync(dirname(path), { recursive: true });
  const startedAt = new Date(Date.now() - 7_260_000).toISOString();
  writeFileSync(path, JSON.stringify({ pid: process.ppid, startedAt, services }));
}

test('without a master the keys are counted all the same', async () => {
  const status = await readStatus(options);
  expect(status).toMatchObject({ id: 'm1', serving: false, pid: undefined });
  expect(drawStatus(status)).toMatch(/^m1: the master does not run\nminions: 1 accepted, 0 pend/);
});

test('the worker that looks after presence shows how many minions are connected', async () => {
  await runningServices({ 'worker-pool-1': true, 'worker-pool-2': true });
  const status = await readStatus(options);
  expect(drawStatus(status)).not.toContain('presence:');
  const shown = (presence: object): string => {
    const [first, ...others] = status.services;
    if (first === undefined) throw new Error('no service');
    // The others have an empty one.
    const empty = others.map((one) => ({ ...one, status: { ...one.status, presence: {} } }));
    const owner = { ...first, status: { ...first.status, presence } };
    return drawStatus({ ...status, services: [...empty, owner] });
  };
  const calm = { present: 48, loose: 0, unclear: 0, sure: true };
  expect(shown(calm)).toContain('presence: 48 connected\n');
  expect(shown({ ...calm, loose: 2, unclear: 3, sure: false })).toContain(
    'presence: 48 connected, 2 without a connection for now, 3 unclear, ' +
      'some publishers do not report',
  );
});

test('engines are shown by the worker that has them, with the reason why one does not run', async () => {
  await runningServices({ 'worker-pool-1': true, 'worker-pool-2': true });
  const status = await readStatus(options);
  const [first, second] = status.services;
  const engines = [
    [
      { name: 'webhook', state: 'elsewhere' },
      { name: 'logstash', state: 'waiting', why: 'it ended with code 1' },
      { name: 'kafka', state: 'elsewhere' },
    ],
    [{ name: 'webhook', state: 'running', why: 'it was stopped' }],
  ];
  const services = [first!, second!].map((service, at) => {
    return { ...service, status: { ...service.status, engines: engines[at] } };
  });
  expect(drawStatus({ ...status, services })).toContain(
    'engines: webhook running, logstash waiting (it ended with code 1), kafka elsewhere\n',
  );
});

test('a master serves while each of its services says so', async () => {
  // Seconds stand in the text.
  vi.useFakeTimers({ toFake: ['Date'] });
  await runningServices({ 'event-bus': true, 'req-gateway': true });
  const status = await readStatus(options);
  expect(status.serving).toBe(true);
  const text = drawStatus(status);
  expect(text).toContain(`m1: serving   pid ${process.ppid}   up 2h1m   ports 4505, 4506`);
  expect(text).toMatch(/req-gateway +ready +7 +1m5s +1 +queue\.aes=3\n/);
  expect(text).toMatch(/\n\nnode: 20\.20\.2[^\n]*\ncrypto: native\nminions: 1 accepted/);

  vi.setSystemTime(Date.UTC(2026, 4, 2));
  const later = 'node: 20.20.2 (no security fixes since 2026-04-30)\n';
  expect(drawStatus(status)).toContain(later);
});

test('one service that does not serve is enough not to', async () => {
  await runningServices({ 'event-bus': true, 'worker-pool-1': false });
  const status = await readStatus(options);
  expect(status.serving).toBe(false);
  expect(drawStatus(status)).toMatch(/worker-pool-1 +not ready/);
});

test('the relay, which this version has not, does not count', async () => {
  await runningServices({ 'event-bus': true, 'syndic-relay': false });
  expect((await readStatus(options)).serving).toBe(true);
});
