import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { haveKeyFiles, servicesReady, takeJobs, waitForSign } from './signs-of-life.ts';

let dir = '';
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'brine-signs-'))));
afterEach(() => rmSync(dir, { recursive: true }));

test('services are ready when each is but the relay, and there are some', async () => {
  expect(await servicesReady(dir)).toBe(false);
  mkdirSync(join(dir, 'brine'));
  const tell = (...states: readonly string[]): void => {
    const needed = states.map((state, at) => ({ name: `service-${at}`, state }));
    const services = [...needed, { name: 'syndic-relay', state: 'starting' }];
    writeFileSync(join(dir, 'brine', 'services.json'), JSON.stringify({ services }));
  };
  for (const [states, ready] of [
    [[], false],
    [['ready', 'starting'], false],
    [['ready', 'ready'], true],
  ] as const) {
    tell(...states);
    expect(await servicesReady(dir), states.join()).toBe(ready);
  }
});

test('a key file is one of an accepted or a waiting key', async () => {
  expect(await haveKeyFiles(dir, ['a'])).toBe(false);
  for (const [state, id] of [
    ['minions', 'a'],
    ['minions_pre', 'b'],
    ['minions_rejected', 'c'],
  ] as const) {
    mkdirSync(join(dir, state));
    writeFileSync(join(dir, state, id), '');
  }
  expect(await haveKeyFiles(dir, ['a', 'b'])).toBe(true);
  expect(await haveKeyFiles(dir, ['a', 'b', 'c'])).toBe(false);
});

test('minions take jobs once they log so; those without a log are not waited for', async () => {
  const log = (id: string, text: string): void =>
    writeFileSync(join(dir, `minion-${id}.log`), text);
  log('ours', '[INFO    ] signed in publishPort=4505\n');
  log('stock', '[INFO    ] Minion is ready to receive requests!\n');
  log('waits', '[WARNING ] the key waits to be accepted by the master\n');
  expect(await takeJobs(dir, ['ours', 'stock', 'simulated'])).toBe(true);
  expect(await takeJobs(dir, ['ours', 'waits'])).toBe(false);
});

test('a wait ends with the sign, or in vain with its time', async () => {
  let asked = 0;
  await waitForSign(async () => ++asked === 2, Date.now() + 20_000);
  expect(asked).toBe(2);
  await waitForSign(async () => false, Date.now() + 60);
});
