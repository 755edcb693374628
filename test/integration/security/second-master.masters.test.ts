import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BrineMaster, SaltSandbox } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';

let master: BrineMaster;
let sandbox: SaltSandbox;
beforeAll(async () => {
  master = await BrineMaster.start();
  sandbox = await SaltSandbox.create();
  // What is not ready yet would change by itself.
  const waiting = async () => (await master.services()).filter(({ ready }) => !ready);
  await until('all services are ready', async () => expect(await waiting()).toEqual([]), {
    withinMs: 60_000,
  });
}, 240_000);
afterAll(async () => {
  await master?.close();
  await sandbox?.close();
});

/** What a second master must leave as it is. */
async function first() {
  const { configDir, cacheDir } = master.home;
  const services = await master.services();
  return {
    pidfile: await readFile(join(configDir, 'pid'), 'utf8'),
    lock: await readFile(join(cacheDir, 'brine', 'master.lock'), 'utf8'),
    services,
  };
}

test('an option that is not in force is one line of the log, whatever starts', async () => {
  // The file of every test master has it.
  expect((await master.log()).match(/Option 'worker_threads' in /g)).toHaveLength(1);
});

test('a second master with the same file ends with 4 and changes nothing', async () => {
  const before = await first();
  const { code, stderr } = await master.brine('master', []);
  expect(code).toBe(4);
  expect(stderr).toContain('Not started, is there another master running?');
  expect(stderr).toContain(`a master runs on this cachedir already (pid ${master.pid})`);
  expect(stderr).toContain(`port ${master.home.publishPort} of 127.0.0.1 is taken`);
  expect(stderr).toContain('names process');
  expect(stderr).toContain('master_event_pub.ipc is served');
  expect(await first()).toEqual(before);
});

test('so does one with other directories on the same ports, also as a daemon', async () => {
  const { publishPort, retPort } = master.home;
  const home = await sandbox.master({}, { publishPort, retPort });
  const pidfile = join(home.configDir, 'pid');
  await writeFile(pidfile, '1');
  const before = await first();
  for (const args of [[], ['-d']]) {
    const { code, stderr } = await master.run([
      BRINE,
      'master',
      ...['-c', home.configDir, ...args],
    ]);
    expect(code).toBe(4);
    expect(stderr).toContain(`port ${publishPort} of 127.0.0.1 is taken by process`);
    expect(stderr).toContain(`port ${retPort} of 127.0.0.1 is taken by process`);
  }
  expect(await readFile(pidfile, 'utf8')).toBe('1');
  expect(await first()).toEqual(before);
});

test('services that a killed master leaves behind do not keep the next one away', async () => {
  const services = await master.services();
  process.kill(master.pid ?? NaN, 'SIGKILL');
  // At once: the services of the first still hold its ports.
  const { code, stderr } = await master.brine('master', ['-d']);
  expect([code, stderr]).toEqual([0, '']);
  await master.waitUntilReady();
  const state = JSON.parse(
    await readFile(join(master.home.cacheDir, 'brine', 'services.json'), 'utf8'),
  ) as { pid: number };
  expect(state.pid).not.toBe(master.pid);
  const before = new Set(services.map(({ pid }) => pid));
  expect((await master.services()).some(({ pid }) => before.has(pid))).toBe(false);
  process.kill(state.pid, 'SIGTERM');
  await expect
    .poll(() => existsSync(join(master.home.cacheDir, 'brine', 'services.json')), {
      timeout: 120_000,
    })
    .toBe(false);
}, 300_000);
