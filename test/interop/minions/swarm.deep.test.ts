import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Swarm } from '@brine/swarm';
import type { SaltHome, SaltPorts, SaltVenv } from '@brine/testing';
import { SaltSandbox, saltVenv } from '@brine/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const MINIONS = 50;

let venv: SaltVenv;
let sandbox: SaltSandbox;
let master: SaltHome & SaltPorts;

beforeAll(async () => {
  venv = await saltVenv('3006.26');
  sandbox = await SaltSandbox.create();
  // 3006.17 and later refuse version 2 unless told otherwise.
  master = await sandbox.master({ minimum_auth_version: 0 });
  await sandbox.startMaster(venv, master);
});
afterAll(async () => {
  await sandbox?.close();
});

describe('50 simulated minions at a stock master of 3006.26', () => {
  test.each([3, 2] as const)(
    'log in, answer and storm with payload version %i',
    async (version) => {
      await using swarm = await Swarm.start({
        retPort: master.retPort,
        minions: MINIONS,
        payloadVersion: version,
        idPrefix: `v${version}-`,
        keyPairs: 4,
        openEvery: 1,
      });
      const all = { answered: MINIONS, refused: 0, timedOut: 0 };
      expect(await swarm.connect({ inFlight: 8 })).toMatchObject(all);
      const keys = await readdir(join(master.pkiDir, 'minions'));
      expect(keys.filter((id) => id.startsWith(`v${version}-`))).toHaveLength(MINIONS);

      const job = await swarm.publish({ cachedir: master.cacheDir, target: `v${version}-*` });
      expect(job).toMatchObject({ targeted: MINIONS, reached: MINIONS, acknowledged: MINIONS });
      const shown = await sandbox.run(venv, 'salt-run', master, [
        'jobs.lookup_jid',
        job.jid ?? '',
        '--out=json',
      ]);
      expect(Object.keys(JSON.parse(shown.stdout) as object)).toHaveLength(MINIONS);

      const count = { inFlight: 8, count: 50 };
      for (const storm of [swarm.returns(count), swarm.events(count), swarm.logIn(count)]) {
        expect(await storm).toMatchObject({ answered: 50, refused: 0, timedOut: 0 });
      }
      expect((await swarm.stats()).total).toMatchObject({ badReplies: 0, badPublications: 0 });
    },
  );
});
