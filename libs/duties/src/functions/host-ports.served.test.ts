import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bus } from '@brine/bus';
import { loadMasterConfig } from '@brine/config';
import type { FileServer } from '@brine/fileserver';
import { followFileActs } from '@brine/master-ports';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHostPorts } from './host-ports.ts';

let nats: TestNats;
let bus: Bus;
const dir = mkdtempSync(join(tmpdir(), 'brine-host-ports-'));

beforeAll(async () => {
  nats = await startNats({ streams: false });
  bus = await nats.connect('runner-pool');
}, 600_000);
afterAll(async () => {
  await nats.close();
  rmSync(dir, { recursive: true });
});

/** A process of a host, and what its file server was asked. */
function worker(processId: string, host: string) {
  const asked: unknown[] = [];
  writeFileSync(join(dir, 'master'), `brine: {host: ${host}}\n`);
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  const files = {
    update: async (...given: unknown[]) => void asked.push(['update', ...given]),
    clearCopies: async (...given: unknown[]) => {
      asked.push(['clear', ...given]);
      return { done: [], errors: [] };
    },
    forgetLists: (...given: unknown[]) => {
      asked.push(['forget', ...given]);
      return new Map();
    },
  } as unknown as FileServer;
  const pillars = { updateGit: async () => mapOf({}) };
  const ports = openHostPorts({ bus, options, processId, files, pillars });
  const onTrouble = (text: string, err: unknown) => void asked.push([text, err]);
  return { asked, ports, close: followFileActs({ bus, files, host, processId, onTrouble }) };
}

test('workers of other hosts do what one was asked, those of its host see it by themselves', async () => {
  const [asked, beside, elsewhere] = [
    worker('w1', 'one'),
    worker('w2', 'one'),
    worker('w3', 'two'),
  ];
  await bus.flush();
  await asked.ports.fileServer.update(['gitfs'], ['remote']);
  await asked.ports.fileServer.clearCopies();
  asked.ports.fileServer.forgetLists(['base'], undefined);
  await until('the other host has done it all', () => elsewhere.asked.length >= 3);
  await until('the worker beside has forgotten its lists', () => beside.asked.length >= 1);
  const expected = [
    ['forget', ['base'], undefined],
    ['update', ['gitfs'], ['remote']],
    ['clear', undefined],
  ];
  const byName = (one: unknown, other: unknown): number => (String(one) < String(other) ? -1 : 1);
  expect(elsewhere.asked.sort(byName)).toEqual([...expected].sort(byName));
  expect(asked.asked.sort(byName)).toEqual([...expected].sort(byName));
  expect(beside.asked).toEqual([['forget', ['base'], undefined]]);
  for (const { close } of [asked, beside, elsewhere]) close();
});
