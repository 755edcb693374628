import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { callFunction } from './call.ts';

const context = {
  client: {} as never,
  out: () => undefined,
  auditSeal: () => Promise.reject(new Error('none here')),
};

test('a map among the arguments of a call stays an argument', async () => {
  const sly = mapOf({ __kwarg__: true, other: 1 });
  const call = { kind: 'runner', fun: 'test.arg', args: [sly], kwargs: mapOf({ k: 'v' }) } as const;
  expect(await callFunction(call, context)).toEqual({
    value: mapOf({ args: [sly], kwargs: mapOf({ k: 'v' }) }),
    success: true,
  });
});

test('an unknown function is a failure in Salt’s words', async () => {
  const call = { kind: 'runner', fun: 'no.such', args: [], kwargs: mapOf({}) } as const;
  expect(await callFunction(call, context)).toEqual({
    value: "Exception occurred in runner no.such: 'no.such' is not available.",
    success: false,
    retcode: 1,
  });
});

test('a name is no function of the other kind', async () => {
  const call = { kind: 'runner', fun: 'key.list_all', args: [], kwargs: mapOf({}) } as const;
  expect((await callFunction(call, context)).success).toBe(false);
});
