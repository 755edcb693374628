import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import type { LocalClient } from '../local-client.ts';
import { callRunner } from './call.ts';
import type { RunnerFunction } from './runner-function.ts';

const lookup: RunnerFunction = {
  name: 'jobs.lookup',
  parameters: [['jid'], ['full', false]],
  doc: '',
  run: async ({ named }) => ({ value: new Map(named) }),
};
const context = {
  client: {} as LocalClient,
  auditSeal: () => Promise.reject(new Error('none here')),
};

test('a map among the arguments is an argument, whatever it says of itself', async () => {
  const sly = mapOf({ __kwarg__: true, jid: 'other', full: true });
  const call = { fun: 'jobs.lookup', args: [sly], kwargs: mapOf({}) };
  expect(await callRunner(lookup, call, context)).toEqual({
    value: mapOf({ jid: sly, full: false }),
    success: true,
  });
});
