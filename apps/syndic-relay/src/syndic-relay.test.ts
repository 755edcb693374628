import { expect, test } from 'vitest';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { createLog } from '@brine/telemetry';
import { startSyndicRelay } from './syndic-relay.ts';

function start(changes: Partial<MasterOptions>, lines: string[] = []) {
  const env = { NATS_URL: 'nats://127.0.0.1:1' };
  const { options } = loadMasterConfig({ configDir: '/nonexistent', env });
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ service: 'syndic-relay', level: 'info', destination });
  const signal = new AbortController().signal;
  const connect = () => Promise.resolve({ status: 'connected' as const, close: async () => {} });
  return startSyndicRelay({ options: { ...options, ...changes }, log, signal }, { connect });
}

test('without a master above it is ready and idle', async () => {
  const relay = await start({});
  expect(relay.ready()).toBe(true);
  expect(relay.status()).toEqual({ idle: true, syndicMaster: null });
  await relay.close();
});

test('with a master above it says that it can not, and is not ready', async () => {
  const lines: string[] = [];
  const relay = await start({ syndicMaster: 'upper.example' }, lines);
  expect(relay.ready()).toBe(false);
  expect(lines.join('')).toContain('this version can not be a syndic');
});
