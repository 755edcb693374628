import { expect, test } from 'vitest';
import { highstateOn, TARGETS_MAX } from './highstate.ts';

test('a dry run is of these minions alone, as a list', () => {
  expect(highstateOn(['web1', 'db1'])).toEqual({
    search: { tgt: 'web1,db1', tgtType: 'list', fun: 'state.apply', arg: 'test=True' },
    command: 'salt -L web1,db1 state.apply test=True',
  });
});

test('an id can not end the quotes of the command', () => {
  expect(highstateOn(["a' ; id '"]).command).toBe(
    String.raw`salt -L 'a'\'' ; id '\''' state.apply test=True`,
  );
});

test('no more minions than an address can have', () => {
  const ids = Array.from({ length: TARGETS_MAX + 1 }, (_, n) => `m${n}`);
  expect(highstateOn(ids).search.tgt.split(',')).toHaveLength(TARGETS_MAX);
});
