import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ClaimedHost, claimHost, type HostClaim, HostTakenError } from './claim-host.ts';
import { writeState } from './state-file.ts';

const MODULE = new URL('./claim-host.ts', import.meta.url).pathname;
const HOST = '127.0.0.1';
/** No process has this number: it is above any limit of Linux. */
const NOBODY = 4_194_305;

let dir: string;
const claims: ClaimedHost[] = [];
const children: ChildProcess[] = [];
const servers: Server[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-claim-'));
});

afterEach(async () => {
  for (const claim of claims.splice(0)) claim.release();
  for (const server of servers.splice(0)) server.close();
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
  }
  rmSync(dir, { recursive: true, force: true });
});

async function listen(at: number | string): Promise<Server> {
  const server = createServer();
  servers.push(server);
  if (typeof at === 'string') server.listen(at);
  else server.listen(at, HOST);
  await once(server, 'listening');
  return server;
}

async function freePorts(count: number): Promise<number[]> {
  const found = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = found.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(found.map((server) => once(server.close(), 'close')));
  return ports;
}

function wanted(ports: readonly number[], more: Partial<HostClaim> = {}): HostClaim {
  return {
    ports: ports.map((port) => ({ host: HOST, port })),
    sockets: [join(dir, 'pub.ipc')],
    pidfile: join(dir, 'pid'),
    stateDir: join(dir, 'state'),
    leftoverMs: 0,
    ...more,
  };
}

async function claim(want: HostClaim): Promise<ClaimedHost> {
  const claimed = await claimHost(want);
  claims.push(claimed);
  return claimed;
}

/** @throws Error ECONNREFUSED where none listens */
async function connected(port: number): Promise<void> {
  const socket = connect(port, HOST);
  await once(socket, 'connect').finally(() => socket.destroy());
}

/** Why a claim is refused. */
async function refusal(want: HostClaim): Promise<readonly string[]> {
  const error: unknown = await claim(want).catch((caught: unknown): unknown => caught);
  if (!(error instanceof HostTakenError)) throw new Error('it was not refused', { cause: error });
  return error.lines;
}

test('free ports are taken, and free again once released', async () => {
  const ports = await freePorts(2);
  const claimed = await claim(wanted(ports));
  expect(readFileSync(join(dir, 'state', 'master.lock'), 'utf8')).toMatch(`${process.pid} `);
  // A balancer that looks by connecting must not find a master that is about to start.
  for (const port of ports) await expect(connected(port)).rejects.toThrow('ECONNREFUSED');
  const lines = await refusal(wanted(ports, { stateDir: join(dir, 'other') }));
  expect(lines).toEqual([expect.stringMatching(`^port ${ports[0]} of ${HOST} is taken`)]);
  claimed.release();
  for (const port of ports) await listen(port);
  expect(existsSync(join(dir, 'state', 'master.lock'))).toBe(false);
});

test('taken ports are named with their processes, all at once; nothing is written', async () => {
  const ports = await freePorts(3);
  await listen(ports[0] ?? 0);
  await listen(ports[2] ?? 0);
  const lines = await refusal(wanted(ports));
  expect(lines).toEqual(
    [ports[0], ports[2]].map((port): unknown =>
      expect.stringMatching(`^port ${port} of ${HOST} is taken by process ${process.pid} \\(`),
    ),
  );
  expect(existsSync(join(dir, 'state'))).toBe(false);
});

test('an address that this host has not is an error, not tried for ever', async () => {
  const [port = 0] = await freePorts(1);
  const lines = await refusal(wanted([], { ports: [{ host: '192.0.2.1', port }] }));
  expect(lines).toEqual([expect.stringMatching(/^port \d+ of 192\.0\.2\.1 can not be bound: /)]);
});

test('of two that start at once one gets the ports', async () => {
  for (let round = 0; round < 10; round += 1) {
    const ports = await freePorts(3);
    const tries = ['one', 'two'].map((name) => claim(wanted(ports, { stateDir: join(dir, name) })));
    const outcomes = await Promise.allSettled(tries);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const claimed of claims.splice(0)) claimed.release();
  }
});

test('a socket on which a process answers is taken, one that was left behind is not', async () => {
  const path = join(dir, 'pub.ipc');
  await listen(path);
  expect(await refusal(wanted([]))).toEqual([`${path} is served`]);
  // A process that is killed leaves the file.
  const left = join(dir, 'left.ipc');
  const script = `require('net').createServer().listen(process.argv[1], () => process.abort())`;
  await once(spawn(process.execPath, ['-e', script, left]), 'exit');
  expect(existsSync(left)).toBe(true);
  await claim(wanted([], { sockets: [left] }));
});

test('a pid file counts where it names a living master, not where the number is reused', async () => {
  const path = join(dir, 'pid');
  const master = spawn('sleep', ['1000'], { argv0: '/usr/bin/salt-master' });
  const other = spawn('sleep', ['1000'], { argv0: '/usr/bin/salt-minion' });
  children.push(master, other);
  await Promise.all([once(master, 'spawn'), once(other, 'spawn')]);
  writeFileSync(path, String(master.pid));
  expect(await refusal(wanted([]))).toEqual([
    `${path} names process ${master.pid} (usr/bin/salt-master)`,
  ]);
  for (const stale of [other.pid, NOBODY, process.pid, 'nonsense', '']) {
    writeFileSync(path, String(stale));
    (await claim(wanted([]))).release();
  }
});

test('the state directory of a living master is refused, that of a killed one is taken', async () => {
  const script = `
    const { claimHost } = await import(process.argv[1]);
    await claimHost(JSON.parse(process.argv[2]));
    console.log('claimed');
    setInterval(() => undefined, 1000);`;
  const args = ['--import', 'tsx', '--conditions=source', '--input-type=module', '-e', script];
  const child = spawn(process.execPath, [...args, MODULE, JSON.stringify(wanted([]))]);
  children.push(child);
  await once(child.stdout, 'data');
  expect(await refusal(wanted([]))).toEqual([
    `a master runs on this cachedir already (pid ${child.pid}): it has ${join(dir, 'state')}`,
  ]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(existsSync(join(dir, 'state', 'master.lock'))).toBe(true);
  await claim(wanted([]));
});

test('a link in the state directory leads the claim nowhere', async () => {
  const outside = join(dir, 'outside');
  writeFileSync(outside, 'text');
  mkdirSync(join(dir, 'state'));
  symlinkSync(outside, join(dir, 'state', `master.lock.${process.pid}`));
  await claim(wanted([]));
  expect(readFileSync(outside, 'utf8')).toBe('text');
  expect(readFileSync(join(dir, 'state', 'master.lock'), 'utf8')).toMatch(`${process.pid} `);
});

test('services of a master that was killed are waited for', async () => {
  writeState(join(dir, 'state'), { pid: NOBODY, startedAt: '', services: [] });
  const path = join(dir, 'pub.ipc');
  const leaving = await listen(path);
  leaving.on('connection', () => leaving.close());
  await claim(wanted([], { leftoverMs: 60_000 }));
});
