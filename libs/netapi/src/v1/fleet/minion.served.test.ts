import { minionDetailSchema, overviewSchema } from '@brine/api/fleet';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { NOWHERE, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';

afterEach(closeScenes);

const ROLL = mapOf({
  value: mapOf({
    services: [
      mapOf({ service: 'worker-pool', facts: mapOf({ host: 'b', ready: true, release: '0.2.0' }) }),
      mapOf({ service: 'http-api', facts: mapOf({ host: 'a', ready: 'yes', release: 7 }) }),
      'no report',
    ],
    leftOut: 0,
  }),
});

const NOW = Date.now();
const NUMBERS = mapOf({
  open: 3,
  quarantined: 2,
  isWhole: true,
  minutes: [
    mapOf({ minute: minuteOf(NOW - 600_000), jobs: 2, returns: 9, failed: 1 }),
    mapOf({ minute: minuteOf(NOW - 7_200_000), jobs: 5, returns: 5, failed: 5 }),
    'no minute',
  ],
});

function minuteOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\D/g, '').slice(0, 12);
}

async function served(
  rights?: readonly SaltValue[],
  reach: Readonly<Record<string, string[]>> = {},
  numbers: () => SaltValue = () => mapOf({ value: NUMBERS }),
) {
  const answer = (load: SaltMap) => {
    const cmd = textOf(load, 'cmd');
    if (cmd === 'brine_read' && textOf(load, 'read') === 'services') return ROLL;
    if (cmd === 'brine_read' && textOf(load, 'read') === 'job_numbers') return numbers();
    if (rights === undefined || cmd !== 'brine_rights') return usualAnswer(load);
    return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf(reach) });
  };
  const { scene, token, ask } = await servedScene({ answer });
  for (const id of ['web1', 'db1', 'a b/"']) {
    scene.fleet.setKey(id, { state: 'accepted', hasDenied: false });
    scene.fleet.setGrains(id, ['Debian', '', '', '']);
    scene.keyRecords.set(id, { state: 'accepted', pub: 'PEM', denied: [], at: 1_764_500_000 });
    scene.grains.set(id, {
      grains: mapOf({ os: 'Debian', role: id, bytes: Buffer.from([0xff]) }),
      updatedMs: 1_764_500_000_000,
    });
  }
  scene.fleet.setKey('new1', { state: 'pending', hasDenied: false });
  const headers = { Authorization: `Bearer ${token}` };
  const get = async (path: string) => {
    const { status, text } = await ask(`/v1${path}`, { headers });
    return { status, json: JSON.parse(text) as Record<string, unknown> };
  };
  return { scene, get };
}

const WEBS = [mapOf({ 'web*': ['test.ping'] })];
const REACH = { 'web*': ['web1'] };
const NOT_FOUND = { status: 404, json: { code: 'not-found' } };

describe('one minion', () => {
  test('is its row, and when its key changed', async () => {
    const { get } = await served();
    const { json } = await get('/minions/web1');
    expect(minionDetailSchema.parse(json)).toMatchObject({
      id: 'web1',
      key: 'accepted',
      grains: { os: 'Debian', kernel: null },
      keyChanged: '2025-11-30T10:53:20.000000Z',
      asOf: NOWHERE,
    });
    expect((await get(`/minions/${encodeURIComponent('a b/"')}`)).json).toMatchObject({
      id: 'a b/"',
    });
    expect(await get('/minions/none')).toMatchObject(NOT_FOUND);
    expect(await get('/minions/__proto__')).toMatchObject(NOT_FOUND);
    for (const path of ['/minions/web1', '/minions/web1/grains', '/overview']) {
      expect((await get(`${path}?more=1`)).status).toBe(400);
    }
  });

  test('that a caller may not see is not there', async () => {
    const { get } = await served(WEBS, REACH);
    expect((await get('/minions/web1')).json).toMatchObject({
      grains: { os: null },
      keyChanged: null,
    });
    for (const id of ['db1', 'new1', 'none']) {
      const hidden = await get(`/minions/${id}`);
      expect(hidden).toMatchObject(NOT_FOUND);
      expect(hidden.json).toEqual({
        ...(await get('/minions/other')).json,
        instance: `/v1/minions/${id}`,
      });
      expect(await get(`/minions/${id}/grains`)).toMatchObject(NOT_FOUND);
    }
  });
});

describe('grains', () => {
  test('are whole for a caller that may have them sent', async () => {
    const { get } = await served([mapOf({ 'web*': ['grains.items'] })], REACH);
    expect((await get('/minions/web1/grains')).json).toMatchObject({
      grains: { os: 'Debian', role: 'web1' },
      updated: '2025-11-30T10:53:20.000000Z',
    });
    expect(await get('/minions/db1/grains')).toMatchObject(NOT_FOUND);
  });

  test('are null before a minion has sent some', async () => {
    const { get, scene } = await served([mapOf({ 'web*': ['grains.items'] })], REACH);
    scene.grains.delete('web1');
    expect(await get('/minions/web1/grains')).toMatchObject({
      status: 200,
      json: { grains: null, updated: null },
    });
  });

  test('are refused to one that may only target the minion', async () => {
    const { get } = await served(WEBS, REACH);
    expect(await get('/minions/web1/grains')).toMatchObject({
      status: 403,
      json: { code: 'forbidden' },
    });
  });

  test('are refused to one that lists keys alone', async () => {
    const { get } = await served([mapOf({ '@wheel': ['key.list_all'] })]);
    expect((await get('/minions/web1')).json).toMatchObject({ grains: { os: null } });
    expect(await get('/minions/web1/grains')).toMatchObject({ status: 403 });
  });
});

describe('an overview', () => {
  test('counts the fleet, and has the services that answer', async () => {
    const { get } = await served();
    const { json } = await get('/overview');
    expect(overviewSchema.parse(json)).toMatchObject({
      fleet: { total: 4, facets: { key: { accepted: 3, pending: 1 }, present: { yes: 0, no: 3 } } },
      services: [
        { service: '', host: '', ready: false, release: '' },
        { service: 'http-api', host: 'a', ready: false, release: '' },
        { service: 'worker-pool', host: 'b', ready: true, release: '0.2.0' },
      ],
      trouble: expect.arrayContaining(['no publisher serves', ' on  is not ready']),
      asOf: NOWHERE,
    });
  });

  test('has the jobs of the last hour, minute by minute', async () => {
    const { get } = await served();
    const { jobs } = overviewSchema.parse((await get('/overview')).json);
    expect(jobs).toMatchObject({ open: 3, isWhole: true, quarantined: 2 });
    expect(jobs?.perMinute).toHaveLength(60);
    const busy = jobs?.perMinute.filter((one) => one.jobs > 0);
    expect(busy).toMatchObject([{ jobs: 2, returns: 9, failed: 1 }]);
    expect(busy?.[0]?.at.replace(/\D/g, '').slice(0, 12)).toBe(minuteOf(NOW - 600_000));
  });

  test('has no jobs while the job cache is unreachable, and all else', async () => {
    const error = mapOf({ name: 'SaltReqTimeoutError', message: 'The job cache is unreachable' });
    const { get } = await served(undefined, {}, () => mapOf({ error }));
    expect(await get('/overview')).toMatchObject({
      status: 200,
      json: { fleet: { total: 4 }, jobs: null },
    });
  });

  test('of a narrow caller counts what it sees, without services', async () => {
    const { get, scene } = await served(WEBS, REACH);
    expect((await get('/overview')).json).toMatchObject({
      fleet: { total: 1, facets: { key: { accepted: 1, pending: 0 }, present: { yes: 0, no: 1 } } },
      services: null,
      trouble: null,
    });
    const asked = scene.master.loads.map((load) => textOf(load, 'read'));
    expect(asked).not.toContain('services');
    expect(asked).toContain('job_numbers');
  });
});
