// No operation and no topic without a row in the table of rights.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiScene, NOWHERE } from '../../test/api-scene.ts';
import { RIGHTS, STREAMS, TOPICS } from '../../test/rights-of-v1.ts';
import { closeScenes, served } from '../../test/served-scene.ts';
import { readTopics } from '../stream/topics.ts';

const WHERE =
  'add a row to libs/netapi/test/rights-of-v1.ts: rights.masters.test.ts asks each as six users';

let scene: ApiScene;
let operations: string[] = [];

beforeAll(async () => {
  const { scene: made, ask } = await served();
  scene = made;
  const { paths } = JSON.parse((await ask('/v1/openapi.json')).text) as {
    readonly paths: Readonly<Record<string, object>>;
  };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
});
afterAll(closeScenes);

test('each operation has a row with the right that it needs', () => {
  expect(operations.length).toBeGreaterThan(20);
  const known = new Set([...Object.keys(RIGHTS), ...STREAMS]);
  const missing = operations.filter((name) => !known.has(name));
  expect(missing, `operations without a row; ${WHERE}`).toEqual([]);
  const gone = [...known].filter((name) => !operations.includes(name));
  expect(gone, 'rows of operations that are not there').toEqual([]);
});

test('each kind of topics has a row, and is asked for by it', () => {
  const kinds = [...scene.parts.topics.keys()].sort();
  expect(Object.keys(TOPICS).sort(), `kinds of topics; ${WHERE}`).toEqual(kinds);
  for (const [kind, { topic }] of Object.entries(TOPICS)) {
    const name = topic({ id: 'db1' });
    expect(name.split(':')[0]).toBe(kind);
    expect(readTopics(name, scene.parts.topics).names).toEqual([name]);
  }
});

test('each parameter of a path has a value in its row', () => {
  const of = { id: 'db1', jid: '1', position: NOWHERE };
  for (const [name, { params = {} }] of Object.entries(RIGHTS)) {
    const wanted = [...name.matchAll(/\{(\w+)\}/g)].map(([, one = '']) => one);
    const given = Object.keys({ ...of, ...params });
    expect(given, `${name}; ${WHERE}`).toEqual(expect.arrayContaining(wanted));
  }
});
