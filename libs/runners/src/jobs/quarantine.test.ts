import { JobRecords } from '@brine/client';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { bindArguments } from '../arguments.ts';
import { QUARANTINE_RUNNER } from './quarantine.ts';

/** Runs one of the functions over a job cache that answers these, in turn. */
async function run(
  name: string,
  given: SaltValue | undefined,
  answers: readonly SaltMap[],
  kwargs: SaltMap = mapOf({}),
) {
  const fun = QUARANTINE_RUNNER.find((one) => one.name === name);
  if (fun === undefined) throw new Error('no such function');
  const asked: SaltMap[] = [];
  const client = {
    command: (load: SaltMap) => {
      asked.push(load.get('args') as SaltMap);
      return Promise.resolve(mapOf({ value: answers[asked.length - 1] ?? null }));
    },
  };
  const jobs = new JobRecords(client);
  const shown = await fun.run(
    bindArguments(fun, { args: given === undefined ? [] : [given], kwargs }),
    { jobs } as never,
  );
  return { asked, value: shown.value };
}

test('rows are shown with their reason, narrowed as asked', async () => {
  const row = { number: 7, kind: 'return', jid: 'j', id: 'm', state: '22021', reason: 'NUL' };
  const answer = mapOf({ total: 1, rows: [mapOf({ ...row, storedMs: 0, triedMs: null })] });
  const { asked, value } = await run('jobs.quarantine', undefined, [answer], mapOf({ state: 22 }));
  expect(asked).toEqual([mapOf({ state: '22', limit: 50 })]);
  const shown = (value as SaltMap).get('Rows') as SaltMap[];
  expect(Object.fromEntries(shown[0]!)).toMatchObject({
    Row: 7,
    Kind: 'return',
    Minion: 'm',
    SQLSTATE: '22021',
    Reason: 'NUL',
    Came: '1970-01-01T00:00:00.000Z',
    Tried: null,
  });
});

test('a retry goes on until all parts are done, and counts them together', async () => {
  const { asked, value } = await run('jobs.quarantine_retry', 'all', [
    mapOf({ stored: 2, refused: 1, next: 9 }),
    mapOf({ stored: 3, refused: 0, next: null }),
  ]);
  expect(asked).toEqual([mapOf({ all: true, after: 0 }), mapOf({ all: true, after: 9 })]);
  expect(value).toEqual(mapOf({ Stored: 5, Refused: 1 }));
});

test('rows are dropped by numbers or a filter, and nothing where nothing is said', async () => {
  const done = [mapOf({ dropped: 2 })];
  for (const [given, numbers] of [
    ['7, 9', [7, 9]],
    [7, [7]],
  ] as const) {
    const { asked, value } = await run('jobs.quarantine_drop', given, done);
    expect(asked).toEqual([mapOf({ numbers: [...numbers] })]);
    expect(value).toEqual(mapOf({ Dropped: 2 }));
  }
  const { asked } = await run('jobs.quarantine_drop', undefined, done, mapOf({ kind: 'stray' }));
  expect(asked).toEqual([mapOf({ kind: 'stray' })]);
  await expect(run('jobs.quarantine_drop', undefined, done)).rejects.toThrow('say which rows');
  await expect(run('jobs.quarantine_drop', '7;x', done)).rejects.toThrow('no numbers');
});
