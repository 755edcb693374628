// Each list takes a time or an age, in one form.
import { mapOf, textOf } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiDocument } from '../../test/api-document.ts';
import { runnerScene } from '../../test/runner-scene.ts';
import { closeScenes } from '../../test/served-scene.ts';

let scene: Awaited<ReturnType<typeof runnerScene>>;
/** Paths and their parameters that are moments. */
const asked: (readonly [path: string, name: string])[] = [];

beforeAll(async () => {
  scene = await runnerScene({
    answer: (load) =>
      textOf(load, 'cmd') === 'brine_read' ? mapOf({ value: mapOf({}) }) : undefined,
  });
  const { paths } = (await scene.send('/openapi.json')).json as unknown as ApiDocument;
  for (const [path, { get }] of Object.entries(paths)) {
    for (const { name } of get?.parameters ?? []) {
      const isMoment = ['from', 'to', 'at'].includes(name) && path !== '/v1/stream';
      if (isMoment) asked.push([path.replace('/v1', '').replace('{jid}', '1'), name]);
    }
  }
});
afterAll(closeScenes);

const questions = (): number => scene.calls('brine_read').length + scene.calls('runner').length;

test('the lists of jobs, runs, acts and events have both ends', () => {
  const names = asked.map(([path, name]) => `${path} ${name}`).sort();
  const lists = ['/audit', '/events', '/jobs', '/runs'];
  const ends = lists.flatMap((path) => [`${path} from`, `${path} to`]);
  expect(names).toEqual([...ends, '/jobs/1 at'].sort());
});

test('each takes times with a zone, and ages: the master is asked', async () => {
  const times = ['2026-11-29T20:45Z', '2026-11-29T20:45:00.250%2B02:00', '1900-01-01T00:00:00Z'];
  const moments = [...times, '90s', '10m', '2h', '1d', '999999999d'];
  for (const [path, name] of asked.filter(([of]) => of !== '/events')) {
    const before = questions();
    for (const moment of moments) await scene.send(`${path}?${name}=${moment}`);
    expect([path, name, questions() - before]).toEqual([path, name, moments.length]);
  }
});

test('each refuses other texts, and the master is not asked', async () => {
  const before = questions();
  const moments = ['soon', '1w', '-1h', '10', '1e9s', '2026-11-29', '2026-11-29T20:45', '%00', ''];
  for (const [path, name] of asked) {
    for (const moment of [...moments, '2026-13-29T20:45:00Z', `${'9'.repeat(70)}s`]) {
      const { json } = await scene.send(`${path}?${name}=${moment}`);
      expect([path, name, moment, json['code']]).toEqual([path, name, moment, 'bad-request']);
    }
  }
  expect(questions()).toBe(before);
});

test('an age before all times is the first of them', async () => {
  await scene.send('/jobs?from=999999999d');
  const load = scene.calls('brine_read').at(-1);
  expect(load?.get('args')).toEqual(mapOf({ limit: 50, from: 0 }));
});
