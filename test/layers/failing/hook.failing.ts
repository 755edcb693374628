import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SaltSandbox } from '@brine/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';

async function sandboxWithLog(said: string): Promise<SaltSandbox> {
  const sandbox = await SaltSandbox.create();
  await sandbox.minion('alone', 4506, { master: 'nats://user:hunter2-b@127.0.0.1' });
  const lines = Array.from({ length: 100 }, (_, n) => `${said} ${n}`);
  writeFileSync(join(sandbox.dir, 'minion-alone.log'), `${lines.join('\n')}\n`);
  return sandbox;
}

describe('a hook that fails', () => {
  let sandbox: SaltSandbox;
  beforeAll(async () => {
    sandbox = await sandboxWithLog('before the hook failed');
    throw new Error('no start');
  });
  afterAll(() => sandbox.close());
  test('never runs', () => undefined);
});

test('fails after its sandbox was closed', async () => {
  await using _sandbox = await sandboxWithLog('before the test failed');
  throw new Error('no end');
});
