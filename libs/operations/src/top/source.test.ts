import { type MasterOptions } from '@brine/config';
import { mapOf, type SaltMap } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import { expect, test } from 'vitest';
import { sampleCluster } from '../cluster-status/sample-cluster.fixture.ts';
import { TopSource } from './source.ts';

const OPTIONS = {
  brine: { stateDir: '/nonexistent', nats: { url: '', certificates: '' } },
} as unknown as MasterOptions;

const OPEN = '20261126030000000001';
const OVER = '20261126030000000002';

/** A master that counts what it is asked. */
function scene() {
  const asked: string[] = [];
  const waiting = new Map([[OPEN, 1]]);
  let answered = 100;
  let nowMs = 0;
  const roll = async (): Promise<SaltMap> => {
    const { services, leftOut } = sampleCluster();
    const answer = services.map((one) => {
      const status = one.service === 'req-gateway' ? { answered } : one.status;
      return { service: one.service, facts: { ...one, status } };
    });
    return fromJson(JSON.parse(JSON.stringify({ services: answer, leftOut }))) as SaltMap;
  };
  const source = new TopSource(
    OPTIONS,
    {
      roll,
      list: async () => new Map([OPEN, OVER].map((jid) => [jid, mapOf({ Function: 'test.ping' })])),
      ledger: async (jid) => {
        asked.push(jid);
        return mapOf({ targeted: 2, waiting: waiting.get(jid) ?? 0, returned: 1 });
      },
      minions: async () => {
        asked.push('minions');
        return mapOf({
          keys: mapOf({ accepted: 2 }),
          present: 1,
          listed: [mapOf({ id: 'x\x1b' })],
        });
      },
      why: async () => new Map([['web1', { cause: 'x', text: 'y\x07' }]]),
    },
    () => nowMs,
  );
  return {
    asked,
    waiting,
    source,
    pass: (ms: number, more = 0) => {
      nowMs += ms;
      answered += more;
    },
  };
}

test('the ledger of a job that waits for none is asked once', async () => {
  const { source, asked, waiting } = scene();
  await source.look({ view: 'jobs', jid: undefined });
  await source.look({ view: 'jobs', jid: undefined });
  expect(asked).toEqual([OVER, OPEN, OPEN]);
  waiting.clear();
  const { jobs } = await source.look({ view: 'jobs', jid: undefined });
  expect(jobs).toMatchObject([{ jid: OVER }, { jid: OPEN, ledger: { waiting: 0 } }]);
  await source.look({ view: 'jobs', jid: undefined });
  expect(asked).toHaveLength(4);
});

test('what gateways answered per second comes from two looks', async () => {
  const { source, pass } = scene();
  const look = () => source.look({ view: 'services', jid: undefined });
  expect((await look()).perSecond).toBeUndefined();
  pass(2_000, 50);
  expect((await look()).perSecond).toBe(25);
  pass(2_000, -120);
  expect((await look()).perSecond).toBeUndefined();
});

test('the list of minions is asked for at most each 10 seconds, and is safe to print', async () => {
  const { source, asked, pass } = scene();
  const look = () => source.look({ view: 'minions', jid: undefined });
  expect(await look()).toMatchObject({ minions: { present: 1, listed: [{ id: 'x?' }] } });
  pass(9_000);
  await look();
  expect(asked).toEqual(['minions']);
  pass(1_000);
  await look();
  expect(asked).toEqual(['minions', 'minions']);
});

test('of a view that is not shown nothing is asked', async () => {
  const { source, asked } = scene();
  const { jobs, minions, silent } = await source.look({ view: 'queues', jid: undefined });
  expect({ jobs, minions, silent, asked }).toEqual({ asked: [] });
});

test('a user who may read nothing of the master gets no picture', async () => {
  const denied = Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
  const no = (): Promise<never> => Promise.reject(denied);
  const closed = new TopSource(OPTIONS, { roll: no, list: no, ledger: no, minions: no, why: no });
  await expect(closed.look({ view: 'jobs', jid: undefined })).rejects.toBe(denied);
});

test('a part that fails has its reason, and the others their answer', async () => {
  const { source } = scene();
  const away = Object.assign(source, {});
  const found = await away.look({ view: 'jobs', jid: OPEN });
  expect(found.silent).toEqual([{ id: 'web1', cause: 'x', text: 'y?' }]);
  const broken = new TopSource(OPTIONS, {
    roll: () => Promise.reject(new Error('dead')),
    list: () => Promise.reject(new Error('The job cache is unreachable: gone. Jobs continue.')),
    ledger: () => Promise.reject(new Error('dead')),
    minions: () => Promise.reject(new Error('dead')),
    why: () => Promise.reject(new Error('dead')),
  });
  const shown = await broken.look({ view: 'jobs', jid: undefined });
  expect(shown.jobs).toBe('The job cache is unreachable: gone');
  expect(shown.cluster).toMatch(/^by the request port: dead; by NATS: /);
});
