import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog } from '@brine/telemetry';
import { until } from '@brine/testing/waits';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ServiceSpec } from './service-process.ts';
import { readState } from './state-file.ts';
import { superviseServices, type Supervisor } from './supervisor.ts';

const CHILD = fileURLToPath(new URL('../../fixtures/child.mjs', import.meta.url));

let dir: string;
let lines: string[];
let running: Supervisor | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-replace-'));
  lines = [];
});

afterEach(async () => {
  await running?.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface Spec extends Partial<ServiceSpec> {
  readonly name: string;
}

async function supervise(...specs: readonly Spec[]): Promise<Supervisor> {
  const whole = specs.map((spec) => ({ entry: CHILD, args: [], env: {}, stage: 0, ...spec }));
  running = superviseServices(whole, {
    log: createLog({ service: 'test', level: 'quiet' }),
    onLine: (_, line) => void lines.push(line),
    stateDir: dir,
    stopDeadlineMs: 3_000,
  });
  await running.started;
  return running;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The number of the process that answers at the port. Rejects if none listens. */
function answerAt(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('data', (data: Buffer) => resolve(Number(data.toString())));
    socket.once('error', reject);
  });
}

const pidsOf = (supervisor: Supervisor) => supervisor.services().map(({ pid }) => pid);

test('a restart replaces all, in the order of their start, each once its successor serves', async () => {
  const supervisor = await supervise({ name: 'door', stage: 1 }, { name: 'base' });
  const before = pidsOf(supervisor);
  await supervisor.roll();
  expect(supervisor.services().map(({ state }) => state)).toEqual(['ready', 'ready']);
  for (const [at, pid] of pidsOf(supervisor).entries()) expect(pid).not.toBe(before[at]);
  expect(supervisor.services().map(({ restarts }) => restarts)).toEqual([0, 0]);
  expect(readState(dir)?.rolling).toEqual({ number: 1, state: 'done' });
  await until('the old door is told to leave', () =>
    expect(lines).toContain('door is told to leave'),
  );
  const told = lines.slice(2).filter((line) => !line.endsWith('alone'));
  expect(told).toEqual(
    ['base', 'door'].flatMap((name) => [
      `${name} starts`,
      `${name} is told to go`,
      `${name} is told to leave`,
    ]),
  );
  await until('the new door is told that it is alone', () =>
    expect(lines).toContain('door is told to alone'),
  );
  await supervisor.roll();
  expect(readState(dir)?.rolling).toEqual({ number: 2, state: 'done' });
});

test('a process gives up what only one may have before its successor begins', async () => {
  const supervisor = await supervise({ name: 'base', yieldsFirst: true });
  await supervisor.roll();
  await until('the old base is told to leave', () =>
    expect(lines).toContain('base is told to leave'),
  );
  const orders = lines.filter((line) => /to (yield|go|leave)$/.test(line));
  expect(orders).toEqual(['base is told to yield', 'base is told to go', 'base is told to leave']);
});

test('a process that is replaced has its time, and two at most have it', async () => {
  const supervisor = await supervise({ name: 'base', env: { LEAVE_MS: '60000' } });
  const seen = new Set(pidsOf(supervisor));
  for (let round = 1; round <= 3; round += 1) {
    await supervisor.roll();
    for (const pid of pidsOf(supervisor)) seen.add(pid);
  }
  expect(seen.size).toBe(4);
  await until('two predecessors have their time', () =>
    expect(supervisor.services()[0]?.leaving).toHaveLength(2),
  );
  const leaving = supervisor.services()[0]?.leaving ?? [];
  expect(leaving).toEqual([...seen].slice(1, 3));
});

test('a successor that does not come leaves the service as it was, and ends the restart', async () => {
  const supervisor = await supervise(
    { name: 'base', env: { SUCCESSOR_FAILS: '1' } },
    { name: 'door', stage: 1 },
  );
  const before = pidsOf(supervisor);
  await expect(supervisor.roll()).rejects.toThrow('base did not load');
  expect(pidsOf(supervisor)).toEqual(before);
  expect(supervisor.ready()).toBe(true);
  const rolling = { number: 1, state: 'failed', service: 'base', error: 'base did not load' };
  expect(readState(dir)?.rolling).toEqual(rolling);
});

test('a port refuses no connection while its service is replaced or killed', async () => {
  const port = await freePort();
  const supervisor = await supervise({ name: 'door', env: { PORT: `${port}` } });
  const [first] = pidsOf(supervisor);
  expect(await answerAt(port)).toBe(first);
  const asked: number[] = [];
  let rolling = true;
  const asking = (async () => {
    while (rolling) asked.push(await answerAt(port));
  })();
  await supervisor.roll();
  const [second] = pidsOf(supervisor);
  await until('the successor answers', () => expect(asked.at(-1)).toBe(second));
  rolling = false;
  await asking;
  expect(new Set(asked)).toEqual(new Set([first, second]));
  process.kill(second ?? NaN, 'SIGKILL');
  // Waits in the system's queue until there is another.
  await until('the service was started again', () =>
    expect(supervisor.services()[0]?.restarts).toBe(1),
  );
  const third = await answerAt(port);
  expect(third).not.toBe(second);
  expect(third).toBe(pidsOf(supervisor)[0]);
});
