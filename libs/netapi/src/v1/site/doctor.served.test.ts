import { doctorSchema } from '@brine/api/site';
import type { Finding } from '@brine/operations/findings';
import { mapOf, type SaltValue, textOf } from '@brine/wire';
import { afterEach, expect, test } from 'vitest';
import { usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';
import type { V1Parts } from '../parts.ts';

afterEach(closeScenes);

async function served(examine: V1Parts['examine'], rights?: readonly SaltValue[]) {
  const { token, ask, scene } = await servedScene({
    examine,
    secrets: [{ from: 'option postgres', value: 'well-known-secret' }],
    answer: (load) => {
      const cmd = textOf(load, 'cmd');
      if (cmd === 'brine_query') return mapOf({ value: mapOf({ services: [] }) });
      if (cmd !== 'brine_rights' || rights === undefined) return usualAnswer(load);
      return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf({}) });
    },
  });
  const headers = { Authorization: `Bearer ${token}` };
  const get = async (query = '') => {
    const { status, text } = await ask(`/v1/doctor${query}`, { headers });
    return { status, json: JSON.parse(text) as unknown };
  };
  return { get, scene };
}

const FOUND: readonly Finding[] = [
  { level: 'bad', check: 'disk', text: 'below 3 %', minions: ['web1'] },
  { level: 'warn', check: 'backends', text: 'no answer of ldap://u:well-known-secret@a/' },
];

test('findings have their runbooks, and no secret', async () => {
  const { get } = await served(async () => FOUND);
  const { host, findings } = doctorSchema.parse((await get()).json);
  expect(host).toBe('host1');
  expect(findings).toEqual([
    {
      level: 'bad',
      check: 'disk',
      text: 'below 3 %',
      runbook: 'docs/outages.md#streams-or-disk-full',
    },
    {
      level: 'warn',
      check: 'backends',
      text: 'withheld: it has a secret; run `brine doctor` on the host',
      runbook: 'docs/night.md#what-doctor-looks-at',
    },
  ]);
  expect((await get('?more=1')).status).toBe(400);
});

test('the host is examined once for all who ask, by the rights of one of them', async () => {
  let begun = 0;
  const { get, scene } = await served(async (jobs) => {
    begun += 1;
    await jobs.roll();
    return FOUND;
  });
  const all = await Promise.all([get(), get(), get()]);
  expect(all.map(({ status }) => status)).toEqual([200, 200, 200]);
  await get();
  expect(begun).toBe(1);
  const rolls = scene.master.loads.filter((load) => textOf(load, 'cmd') === 'brine_query');
  expect(rolls.map((load) => textOf(load, 'token'))).toEqual(['abc123']);
});

test('an examination that fails is not kept', async () => {
  let begun = 0;
  const { get } = await served(async () => {
    begun += 1;
    if (begun === 1) throw new Error('no file can be read');
    return FOUND;
  });
  expect((await get()).status).toBe(500);
  expect((await get()).status).toBe(200);
});

test.each([
  ['narrow by minion', [mapOf({ 'web*': ['.*'] })]],
  ['narrow by function', ['.*']],
  ['of runners', ['@runner', '@jobs']],
  ['of events', ['@events']],
  ['none', []],
])('rights that are %s examine nothing', async (_, rights) => {
  let begun = 0;
  const { get } = await served(async () => {
    begun += 1;
    return FOUND;
  }, rights);
  expect(await get()).toMatchObject({ status: 403, json: { code: 'forbidden' } });
  expect(begun).toBe(0);
});
