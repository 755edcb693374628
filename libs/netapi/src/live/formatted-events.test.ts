import { mapOf, type SaltValue } from '@brine/wire';
import { expect, it } from 'vitest';
import { formattedEvents } from './formatted-events.ts';

const JID = '20261129101112131415';
const NEW = {
  jid: JID,
  _stamp: '2026-11-29T10:11:12',
  minions: ['web1', 'web2'],
  fun: 'test.ping',
  tgt: 'web*',
  tgt_type: 'glob',
};

function write(frame: ReturnType<typeof formattedEvents>, tag: string, data: object): unknown {
  const text = frame({ tag, data: mapOf(data as Record<string, SaltValue>) });
  return text === ''
    ? undefined
    : text
        .trimEnd()
        .split('\n\n')
        .map((one) => JSON.parse(one) as unknown);
}

const ret = (value: SaltValue, fun = 'test.ping', success = true) => ({
  fun,
  return: value,
  retcode: success ? 0 : 1,
  success,
});

it('follows a job until all its minions have succeeded', () => {
  const frame = formattedEvents();
  const fields = {
    jid: JID,
    start_time: NEW._stamp,
    fun: 'test.ping',
    tgt: 'web*',
    tgt_type: 'glob',
  };
  expect(write(frame, `salt/job/${JID}/new`, NEW)).toEqual([
    {
      jobs: {
        [JID]: {
          ...fields,
          state: 'running',
          minions: { web1: { success: false }, web2: { success: false } },
        },
      },
    },
  ]);
  const web1 = { return: true, retcode: 0, success: true };
  expect(write(frame, `salt/job/${JID}/ret/web1`, ret(true))).toEqual([
    { jobs: { [JID]: { ...fields, state: 'running', minions: { web1 } } } },
  ]);
  expect(write(frame, `salt/job/${JID}/ret/web2`, ret(true))).toEqual([
    { jobs: { [JID]: { ...fields, state: 'complete', minions: { web2: web1 } } } },
  ]);
});

it('leaves a job running while a minion has failed', () => {
  const frame = formattedEvents();
  write(frame, `salt/job/${JID}/new`, { ...NEW, minions: ['web1'] });
  expect(write(frame, `salt/job/${JID}/ret/web1`, ret('no', 'cmd.run', false))).toMatchObject([
    { jobs: { [JID]: { state: 'running', minions: { web1: { success: false, retcode: 1 } } } } },
  ]);
});

it('gives minions with their grains, keys and presence', () => {
  const frame = formattedEvents();
  expect(
    write(frame, `salt/job/${JID}/ret/web1`, ret(mapOf({ os: 'Debian' }), 'grains.items')),
  ).toMatchObject([{}, { minions: [{ id: 'web1', grains: { os: 'Debian' } }] }]);
  expect(write(frame, 'salt/key', { id: 'web1', act: 'accept' })).toEqual([
    { minions: [{ id: 'web1', act: 'accept' }] },
  ]);
  expect(write(frame, 'salt/presence/present', { present: ['web1', 'web2'] })).toEqual([
    { minions: [{ id: 'web1' }, { id: 'web2' }] },
  ]);
});

it('leaves out other events, and what JSON can not have', () => {
  const frame = formattedEvents();
  expect(write(frame, 'salt/auth', { id: 'web1' })).toBeUndefined();
  expect(write(frame, `salt/job/${JID}/ret/web1`, ret(new Uint8Array([255])))).toBeUndefined();
});
