import { compareVersions } from '@brine/runners';
import { listOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import type { AskedMinion } from './ask-minion.ts';
import { type FunctionRows, functionRows } from './function-rows.ts';
import { KnownFunctions } from './known-functions.ts';

const HOUR_MS = 3_600_000;
const minion = (id: string, release: string): AskedMinion => ({
  id,
  release,
  isNewer: (than) => (compareVersions(release, than) ?? 0) > 0,
});

function scene(...minions: AskedMinion[]) {
  const asked: string[] = [];
  const troubles: string[] = [];
  const clock = { nowMs: 1_000_000 };
  const silent = new Set<string>();
  let doc = 'x';
  const site = mapOf({ 'site.greet': 'Greets.', 'jobs.active': 'of the site' });
  const known = new KnownFunctions({
    minions: async () => minions,
    ask: async ({ id, release }): Promise<FunctionRows | undefined> => {
      asked.push(id);
      if (silent.has(id)) return undefined;
      const docs = mapOf({ 'test.ping': doc, 'test.echo': doc });
      return functionRows([{ kind: 'module', docs }], `minion ${release}`).rows;
    },
    site: {
      docs: async (kind) => (kind === 'runner' ? site : mapOf({})),
      refresh: async () => undefined,
    },
    serve: () => ({ close: async () => undefined }),
    onTrouble: (text) => void troubles.push(text),
    now: () => clock.nowMs,
  });
  const look = async (question: Readonly<Record<string, SaltValue>> = { kind: 'module' }) => {
    const answer = await known.answer(mapOf(question));
    await known.settled();
    return answer;
  };
  const rowsOf = async (...names: string[]): Promise<readonly SaltMap[]> =>
    (listOf(await known.answer(mapOf({ names })), 'rows') ?? []) as SaltMap[];
  const setDoc = (text: string): void => void (doc = text);
  return { known, asked, troubles, clock, silent, minions, look, rowsOf, setDoc };
}

test('the first answer has what is known, later ones what a minion described', async () => {
  const { asked, look, rowsOf } = scene(minion('a', '3008.5'), minion('b', '3007.1'));
  expect(await look()).toEqual(mapOf({ names: [], complete: false }));
  expect(asked).toEqual(['a']);
  const names = ['module test.echo', 'module test.ping'];
  expect(await look()).toEqual(mapOf({ names, complete: true }));
  expect((await rowsOf('module test.ping', 'module no.such'))[0]?.get('source')).toBe(
    'minion 3008.5',
  );
});

test('no minion is asked while one is asked, and then not for an hour', async () => {
  const { known, asked, clock, look } = scene(minion('a', '3008.5'));
  await Promise.all(Array.from({ length: 20 }, () => known.answer(mapOf({}))));
  await known.settled();
  clock.nowMs += HOUR_MS - 1;
  await look();
  expect(asked).toEqual(['a']);
  clock.nowMs += HOUR_MS;
  await look();
  expect(asked).toEqual(['a', 'a']);
});

test('a minion of a newer release is asked before the hour is over, one of an older one not', async () => {
  const { asked, clock, look, minions } = scene(minion('a', '3007.1'));
  await look();
  minions.unshift(minion('older', '3006.9'));
  clock.nowMs += 60_000;
  await look();
  expect(asked).toEqual(['a']);
  minions.unshift(minion('newer', '3008.1'));
  clock.nowMs += 60_000;
  await look();
  expect(asked).toEqual(['a', 'newer']);
});

test('up to five minions are asked in turn, again after a minute', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const { asked, clock, look, silent } = scene(...ids.map((id) => minion(id, '3008.5')));
  for (const id of ids) silent.add(id);
  await look();
  await look();
  expect(asked).toEqual(ids.slice(0, 5));
  clock.nowMs += 60_000;
  silent.delete('b');
  await look();
  expect(asked.slice(5)).toEqual(['a', 'b']);
  expect((await look()).get('complete')).toBe(true);
});

test('functions of the table override those of the site', async () => {
  const { look, rowsOf } = scene();
  const { source, doc } = Object.fromEntries((await rowsOf('runner site.greet'))[0] ?? []);
  expect([source, doc]).toEqual(['site', 'Greets.']);
  expect((await rowsOf('runner jobs.active'))[0]?.get('source')).toBe('brine');
  const names = listOf(await look({ kind: 'runner', q: 'greet' }), 'names');
  expect(names).toEqual(['runner site.greet']);
  expect(listOf(await look({ after: 'runner site.greet', q: 'greet' }), 'names')).toEqual([]);
});

test('an answer has a megabyte of rows, and at least one', async () => {
  const { look, rowsOf, setDoc } = scene(minion('a', '3008.5'));
  setDoc('x'.repeat(60_000));
  await look();
  const names = Array.from({ length: 40 }, () => 'module test.ping');
  expect((await rowsOf(...names)).length).toBe(17);
  expect(await rowsOf('module test.ping')).toHaveLength(1);
});

test('a process answers while it owns the task, and forgets the minion with it', async () => {
  const { known, look } = scene(minion('a', '3008.5'));
  await look();
  expect(known.status()).toEqual({ release: '3008.5', functions: 2 });
  const controller = new AbortController();
  const work = known.task.work({ released: controller.signal } as Parameters<
    typeof known.task.work
  >[0]);
  controller.abort();
  await work;
  expect(known.status()).toEqual({});
});
