import { functionSchema, functionsSchema } from '@brine/api/site';
import { RUNNERS, WHEELS } from '@brine/runners';
import { mapOf, type SaltValue, textOf } from '@brine/wire';
import { afterEach, expect, test } from 'vitest';
import { usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

async function served(rights?: readonly SaltValue[]) {
  const { token, ask } = await servedScene({
    answer: (load) =>
      rights !== undefined && textOf(load, 'cmd') === 'brine_rights'
        ? mapOf({ principal: 'alice', acl: [...rights], reach: mapOf({}) })
        : usualAnswer(load),
  });
  const headers = { Authorization: `Bearer ${token}` };
  const get = async (path: string) => {
    const { status, text } = await ask(`/v1/functions${path}`, { headers });
    return { status, json: JSON.parse(text) as unknown };
  };
  const names = async (query: string) =>
    functionsSchema.parse((await get(query)).json).items.map(({ kind, name }) => `${kind} ${name}`);
  return { get, names };
}

test('each function of the table is on one page of all', async () => {
  const { get } = await served();
  const found: string[] = [];
  let after = '';
  for (let pages = 0; pages < 100; pages += 1) {
    const { items, next } = functionsSchema.parse((await get(`?limit=10${after}`)).json);
    found.push(...items.map(({ kind, name }) => `${kind} ${name}`));
    if (next === null) break;
    after = `&after=${next}`;
  }
  const all = [...[...RUNNERS.keys()].map((name) => `runner ${name}`)];
  all.push(...[...WHEELS.keys()].map((name) => `wheel ${name}`));
  expect(found).toEqual(all.sort());
});

test('a function has its parameters and its documentation', async () => {
  const { get, names } = await served();
  const { json } = await get('/wheel/config.apply');
  expect(functionSchema.parse(json)).toMatchObject({
    kind: 'wheel',
    parameters: [
      { name: 'key', required: true, default: null },
      { name: 'value', required: true, default: null },
    ],
    open: null,
  });
  expect(await names('?kind=wheel&q=config.')).toEqual([
    'wheel config.apply',
    'wheel config.update_config',
    'wheel config.values',
  ]);
});

test.each([
  ['narrow by minion', [mapOf({ 'web*': ['.*'] })], []],
  ['narrow by function', ['.*'], []],
  ['of one wheel', [mapOf({ '@wheel': ['key.list_all'] })], ['wheel key.list_all']],
  [
    'limited to arguments',
    [mapOf({ '@runner': [mapOf({ 'http.query': mapOf({ args: ['https://a/'] }) })] })],
    ['runner http.query'],
  ],
  ['of events', ['@events'], []],
  ['none', [], []],
])('rights that are %s show what they may call alone', async (_, rights, seen) => {
  const { get, names } = await served(rights);
  expect(await names('?limit=500')).toEqual(seen);
  const hidden = await get('/wheel/config.apply');
  expect(hidden).toMatchObject({ status: 404, json: { code: 'not-found' } });
  const none = (await get('/wheel/no.such')).json as object;
  expect(hidden.json).toEqual({ ...none, instance: '/v1/functions/wheel/config.apply' });
});

test.each(['?kind=module', '?more=1', '?limit=0', `?after=${cursorOf(['a'])}`, '/state/a.b'])(
  '%s is refused',
  async (path) => {
    const { get } = await served();
    expect(await get(path)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
  },
);
