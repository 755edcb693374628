import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalClient } from '@brine/client';
import { loadMasterConfig } from '@brine/config';
import { isMap, mapIn, pack, type SaltValue, unpack } from '@brine/wire';
import { expect, test } from 'vitest';
import { settingsFor } from './functions.ts';

test('a limited runner publishes with rights that are handed down, not as root', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-functions-'));
  writeFileSync(join(dir, 'master'), '');
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  rmSync(dir, { recursive: true });
  const handedDown = async (limited?: true): Promise<SaltValue | undefined> => {
    let rights: SaltValue | undefined;
    const ports = {
      request: {
        request: async (body: Uint8Array) => {
          const sent = unpack(body);
          const load = isMap(sent) ? mapIn(sent, 'load') : undefined;
          rights = load && mapIn(load, 'kwargs')?.get('auth_list');
          return pack('refused');
        },
      },
      events: { listen: async () => ({ close: () => undefined }) },
      master: { isPresent: () => true, readKey: async () => 'key' },
      logError: () => undefined,
    };
    const client = new LocalClient(ports, settingsFor(options, limited ? { limited } : {}));
    const command = { tgt: 'I@role:web', tgtType: 'compound', fun: 'test.ping', arg: [] };
    await expect(client.publish(command)).rejects.toThrow('refused');
    return rights;
  };
  expect(await handedDown()).toBeUndefined();
  expect(await handedDown(true)).toEqual(['.*']);
});

test('runners in a worker know the nodegroups of the master', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-functions-'));
  writeFileSync(join(dir, 'master'), 'nodegroups:\n  web: L@a,b\n  all: [N@web, or, c]\n');
  const { options } = loadMasterConfig({ configDir: dir, env: {} });
  rmSync(dir, { recursive: true });
  const { nodegroups } = settingsFor(options, {});
  expect([...nodegroups]).toEqual([
    ['web', 'L@a,b'],
    ['all', ['N@web', 'or', 'c']],
  ]);
});
