import { type Bus, BusError } from '@brine/bus';
import { mapOf } from '@brine/wire';
import { beforeEach, expect, test } from 'vitest';
import { JobCacheQueries } from './job-queries.ts';

let waits: number[];
let queries: JobCacheQueries;

beforeEach(() => {
  waits = [];
  const request = (_subject: string, _payload: unknown, options: { timeoutMs: number }) => {
    waits.push(options.timeoutMs);
    return Promise.reject(new BusError('BUS_TIMEOUT', 'no answer'));
  };
  queries = new JobCacheQueries({ answers: { request } } as unknown as Bus);
});

test('a question for a page of returns may take longer than one for a row', async () => {
  for (const query of ['job', 'get_load', 'get_jid', 'export', 'import']) {
    const asked = queries.ask(query, mapOf({ jid: 'j' }));
    await expect(asked).rejects.toMatchObject({ name: 'MasterUnavailableError' });
  }
  expect(waits).toEqual([4_000, 4_000, 60_000, 60_000, 60_000]);
});

test('an error says how long the answer was waited for', async () => {
  await expect(queries.ask('job', mapOf({ jid: 'j' }))).rejects.toThrow('no answer within 4 s');
  await expect(queries.ask('job', mapOf({}), 1_000)).rejects.toThrow('no answer within 1 s');
  expect(waits).toEqual([4_000, 1_000]);
});
