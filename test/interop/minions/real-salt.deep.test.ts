import { SALT_VERSIONS, SaltSandbox, saltVenv } from '@brine/testing';
import { expect, test } from 'vitest';

const SIGN_IN_MS = 60_000;

test.each(SALT_VERSIONS)('Salt %s starts as a master, a minion and a CLI', async (version) => {
  const venv = await saltVenv(version);
  await using sandbox = await SaltSandbox.create();
  const master = await sandbox.master({ timeout: 20 });
  await sandbox.startMaster(venv, master);
  const home = await sandbox.minion('real1', master.retPort);
  const minion = sandbox.startMinion(venv, home);
  await minion.waitForLog(/Minion is ready to receive requests/, SIGN_IN_MS);
  const ping = await sandbox.run(venv, 'salt', master, ['*', 'test.ping', '--out=json']);
  expect(JSON.parse(ping.stdout)).toEqual({ real1: true });
  const keys = await sandbox.run(venv, 'salt-key', master, ['-L', '--out=json']);
  expect(JSON.parse(keys.stdout)).toMatchObject({ minions: ['real1'] });
  const call = await sandbox.run(venv, 'salt-call', home, ['test.version', '--out=json']);
  expect(JSON.parse(call.stdout)).toEqual({ local: version });
});
