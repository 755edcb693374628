import { functionSchema, functionsSchema } from '@brine/api/site';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, expect, test } from 'vitest';
import { usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../../test/served-scene.ts';
import { cursorOf } from '../cursor.ts';

afterEach(closeScenes);

const ROW = mapOf({
  kind: 'state',
  name: 'pkg.installed',
  parameters: [
    mapOf({ name: 'name', required: true, default: null }),
    mapOf({ name: 'version', required: false, default: 'None' }),
  ],
  open: 'kwargs',
  doc: '</script>\u001b[2J ünï \u0000\ud800',
  source: 'minion 3008.5',
});

async function served(answer: (read: string, args: SaltMap) => SaltValue) {
  const asked: [string, SaltMap][] = [];
  const { token, ask } = await servedScene({
    answer: (load) => {
      if (textOf(load, 'cmd') !== 'brine_read') return usualAnswer(load);
      const [read, args] = [textOf(load, 'read') ?? '', mapIn(load, 'args') ?? mapOf({})];
      asked.push([read, args]);
      return mapOf({ value: answer(read, args) });
    },
  });
  const get = async (path: string, headers = { Authorization: `Bearer ${token}` } as object) => {
    const { status, text } = await ask(`/v1/functions${path}`, { headers: { ...headers } });
    return { status, json: JSON.parse(text) as unknown };
  };
  return { get, asked };
}

test('a page is what a worker answers for the caller, and continues after its last one', async () => {
  const next = 'state pkg.installed';
  const { get, asked } = await served(() => mapOf({ functions: [ROW], next, complete: true }));
  const { json } = await get('?kind=state&q=pkg&limit=1');
  const page = functionsSchema.parse(json);
  expect(page).toEqual({
    items: [
      {
        kind: 'state',
        name: 'pkg.installed',
        parameters: [
          { name: 'name', required: true, default: null },
          { name: 'version', required: false, default: 'None' },
        ],
        open: 'kwargs',
        doc: '</script>\u001b[2J ünï \u0000\ufffd',
        source: 'minion 3008.5',
      },
    ],
    next: cursorOf([next]),
    complete: true,
  });
  await get(`?after=${page.next}`);
  expect(asked).toEqual([
    ['functions', mapOf({ kind: 'state', q: 'pkg', limit: 1 })],
    ['functions', mapOf({ limit: 50, after: next })],
  ]);
});

test('what is not known yet is not complete', async () => {
  const { get } = await served(() => mapOf({ functions: [], next: null, complete: false }));
  expect(await get('')).toEqual({ status: 200, json: { items: [], next: null, complete: false } });
});

test('one function is what a worker answers; what it does not show is not there', async () => {
  const { get, asked } = await served((_, args) =>
    textOf(args, 'name') === 'pkg.installed' ? ROW : null,
  );
  const { json } = await get('/state/pkg.installed');
  expect(functionSchema.parse(json).source).toBe('minion 3008.5');
  expect(await get('/module/cmd.run')).toMatchObject({ status: 404, json: { code: 'not-found' } });
  expect(asked.at(-1)).toEqual(['function', mapOf({ kind: 'module', name: 'cmd.run' })]);
});

test('without a session nothing is asked', async () => {
  const { get, asked } = await served(() => null);
  for (const path of ['', '/module/test.ping']) {
    expect(await get(path, {})).toMatchObject({ status: 401 });
  }
  expect(asked).toEqual([]);
});

test.each([
  '?kind=returner',
  '?more=1',
  '?limit=0',
  `?after=${cursorOf(['a', 'b'])}`,
  '/returner/a.b',
  '/module/a.b?x=1',
])('%s is refused', async (path) => {
  const { get } = await served(() => null);
  expect(await get(path)).toMatchObject({ status: 400, json: { code: 'bad-request' } });
});
