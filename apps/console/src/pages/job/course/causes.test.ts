import { SILENCE_CAUSES } from '@brine/job';
import { expect, test } from 'vitest';
import { adviceFor, groupByCause } from './causes.ts';

const silent = (id: string, cause: string) => ({ id, cause, text: `${cause} of ${id}` });

test('minions are grouped by cause, the largest group first', () => {
  const groups = groupByCause([
    silent('a', 'key_deleted'),
    silent('b', 'not_connected'),
    silent('c', 'not_connected'),
  ]);
  expect(groups.map(({ cause, minions }) => [cause, minions.map(({ id }) => id)])).toEqual([
    ['not_connected', ['b', 'c']],
    ['key_deleted', ['a']],
  ]);
});

test.each(SILENCE_CAUSES.map((cause) => [cause]))('%s has an advice of its own', (cause) => {
  expect(adviceFor(cause)).not.toEqual(adviceFor('of a later master'));
});
