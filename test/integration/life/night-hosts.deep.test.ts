// Two hosts on one NATS and PostgreSQL: each sees the other, and sees that it is gone.
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MASTER_SERVICES } from '@brine/service/processes';
import {
  BrineMaster,
  startNats,
  startPostgres,
  type TestNats,
  type TestPostgres,
} from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';

let nats: TestNats;
let postgres: TestPostgres;
let first: BrineMaster;
let second: BrineMaster;

async function start(host: string, like?: BrineMaster): Promise<BrineMaster> {
  return BrineMaster.start(
    { brine: { workers: 1 } },
    {
      env: {
        NATS_URL: nats.server.url,
        BRINE_NATS_CERTIFICATES: nats.certificates,
        DATABASE_URL: postgres.url,
        BRINE_HOST: host,
      },
      onHome: async ({ pkiDir }) => {
        for (const file of like === undefined ? [] : ['master.pem', 'master.pub']) {
          await copyFile(join(like?.home.pkiDir ?? '', file), join(pkiDir, file));
        }
      },
    },
  );
}

beforeAll(async () => {
  nats = await startNats({ certificates: true, streams: false });
  postgres = await startPostgres();
  first = await start('first.example');
  second = await start('second.example', first);
}, 600_000);
afterAll(async () => {
  await second?.close();
  await first?.close();
  await postgres?.stop();
  await nats?.close();
});

const statusOf = async (master: BrineMaster) => {
  const { code, stdout } = await master.brine('status', ['--all', '--out', 'json']);
  return {
    code,
    told: JSON.parse(stdout) as {
      services: { host: string; service: string }[];
      trouble: string[];
    },
  };
};

test('each host sees all services of both, and their clocks agree', async () => {
  await until(
    'each sees all of both',
    async () => {
      for (const master of [first, second]) {
        const { code, told } = await statusOf(master);
        expect({ code, trouble: told.trouble }).toEqual({ code: 0, trouble: [] });
        for (const host of ['first.example', 'second.example']) {
          const there = told.services.filter((service) => service.host === host);
          expect(there.map(({ service }) => service).sort()).toEqual([...MASTER_SERVICES].sort());
        }
      }
      const { stdout } = await first.brine('doctor', []);
      expect(stdout).toContain('ok    clock-skew: the clocks of 2 hosts agree within a second');
      return true;
    },
    { withinMs: 90_000 },
  );
});

test('without a worker anywhere, NATS itself is asked, and the workers are missed', async () => {
  const pids = [...(await first.services()), ...(await second.services())]
    .filter(({ name }) => name.startsWith('worker-pool'))
    .map(({ pid }) => Number(pid));
  // Its supervisor replaces each after seconds. Until then no request is answered.
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    const { stdout } = await first.brine('status', ['--all']);
    expect(stdout).toMatch(/first\.example/);
    expect(stdout).toMatch(/second\.example/);
  } finally {
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGCONT');
      } catch (error) {
        expect(error).toMatchObject({ code: 'ESRCH' });
      }
    }
  }
  await until('all serve again', async () => (await statusOf(first)).code === 0, {
    withinMs: 90_000,
  });
});

test('a host that is gone is silent, and named by the other', async () => {
  await second.stop();
  await until(
    'the other host names it',
    async () => {
      const { code, told } = await statusOf(first);
      return code === 1 && told.trouble.some((text) => text.startsWith('host second_example'));
    },
    { withinMs: 60_000 },
  );
  const { stdout } = await first.brine('doctor', []);
  expect(stdout).toMatch(/warn {2}hosts: host second_example\S* is silent/);
});
