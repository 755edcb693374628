import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { RefusedError } from '@brine/master-host';
import { freePorts } from '@brine/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { stockMaster, stopMaster } from './hand-over.ts';

let dir: string;
let master: ChildProcess;
let options: MasterOptions;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'hand-over-'));
  const [publishPort, retPort] = await freePorts(2);
  options = { pidfile: join(dir, 'pid'), publishPort, retPort } as MasterOptions;
});
afterEach(() => {
  master.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

/** A process with the name of a stock master, which ends by SIGTERM or does not. */
async function running(isStubborn = false): Promise<number> {
  const stubborn = isStubborn ? "process.on('SIGTERM', () => {});" : '';
  const script = `${stubborn}setInterval(() => {}, 1e3); console.log('ready')`;
  master = spawn(process.execPath, ['-e', script], { argv0: 'salt-master' });
  await once(master.stdout ?? master, 'data');
  writeFileSync(options.pidfile, `${master.pid}\n`);
  return master.pid ?? 0;
}

async function stopped(pid: number, withinMs = 30_000): Promise<unknown> {
  return stopMaster(pid, 'the stock master', options, withinMs).catch((error: unknown) => error);
}

test('the master that the pid file names is found and stopped', async () => {
  const pid = await running();
  expect(stockMaster(options)).toBe(pid);
  expect(await stopped(pid)).toBeUndefined();
  expect(stockMaster(options)).toBeUndefined();
});

test('another program under that number is none', async () => {
  await running();
  writeFileSync(options.pidfile, String(process.pid));
  expect(stockMaster(options)).toBeUndefined();
});

test('a master that does not stop ends the move, and the error names what to do', async () => {
  const pid = await running(true);
  const error = await stopped(pid, 300);
  expect(error).toBeInstanceOf(RefusedError);
  expect(error).toMatchObject({ code: 'PORTS_TAKEN' });
  expect((error as Error).message).toContain(
    `the stock master (pid ${pid}) did not stop by SIGTERM`,
  );
});

test('ports that another program has taken meanwhile are told', async () => {
  const other: Server = createServer().listen(options.retPort, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const pid = await running();
  // It has stopped, so that what is told within so short a time is the port.
  const exit = once(master, 'exit');
  master.kill('SIGKILL');
  await exit;
  const error = await stopped(pid, 300);
  await once(other.close(), 'close');
  expect(error).toMatchObject({ code: 'PORTS_TAKEN' });
  expect((error as Error).message).toContain(`port ${port} is taken by process ${process.pid}`);
});
