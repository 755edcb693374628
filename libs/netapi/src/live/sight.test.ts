import { readAcl } from '@brine/acl';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import type { LiveEvent } from './live-events.ts';
import { Principals, readableOf, sightOf, unknownJobOf } from './sight.ts';

const JID = '20261129101112131415';

function eventOf(
  tag: string,
  data: SaltMap = mapOf({}),
  kind: LiveEvent['kind'] = 'local',
): LiveEvent {
  const place = { position: '', side: 'events', timeMs: 0 } as const;
  return { tag, kind, jid: undefined, minion: undefined, ...place, data, packed: pack(data) };
}

const announced = (user: string) =>
  eventOf(`salt/job/${JID}/new`, mapOf({ user, fun: 'test.ping' }), 'job');

describe('an event is about', () => {
  const principals = new Principals();
  principals.note(announced('anne'));
  const job = { kind: 'job', principal: 'anne' };

  it.each([
    [`salt/job/${JID}/new`, job],
    [`salt/job/${JID}/publish`, job],
    [`salt/job/${JID}/error`, job],
    [JID, job],
    [`salt/batch/${JID}/progress`, job],
    [`syndic/below/salt/job/${JID}/new`, job],
    ['salt/auth', { kind: 'keys' }],
    ['salt/key', { kind: 'keys' }],
    ['salt/presence/change', { kind: 'keys' }],
    ['salt/minion/web1/start', { kind: 'keys' }],
    ['minion_start', { kind: 'keys' }],
    ['salt/beacon/web1/load', { kind: 'site' }],
    ['salt/netapi/hook/deploy', { kind: 'site' }],
    ['deploy/done', { kind: 'site' }],
    ['', { kind: 'site' }],
  ])('%s', (tag, thing) => {
    expect(readableOf(tag, mapOf({}), principals)).toEqual(thing);
  });

  it.each([
    `salt/job/${JID}/ret/web1`,
    `salt/job/${JID}/prog/web1/3`,
    `salt/job/${JID}/sub/web1/error/state.apply`,
  ])('a return: %s', (tag) => {
    const data = mapOf({ fun: 'state.apply', fun_args: ['nginx'] });
    expect(readableOf(tag, data, principals)).toEqual({
      kind: 'return',
      principal: 'anne',
      minion: 'web1',
      fun: 'state.apply',
      args: ['nginx'],
    });
  });

  it('a run, with its arguments by name', () => {
    const data = mapOf({
      fun: 'runner.jobs.list_job',
      user: 'anne',
      fun_args: [mapOf({ jid: JID })],
    });
    expect(readableOf(`salt/run/${JID}/ret`, data, principals)).toEqual({
      kind: 'run',
      principal: 'anne',
      of: 'runner',
      fun: 'jobs.list_job',
      args: [],
      kwargs: mapOf({ jid: JID }),
    });
  });
});

it('only the event of the master names the principal of a job', () => {
  const principals = new Principals();
  principals.note(announced('anne'));
  const forged = eventOf(`salt/job/${JID}/new`, mapOf({ user: 'mallory' }), 'minion');
  principals.note(forged);
  expect(principals.of(JID)).toBe('anne');
});

describe('a sight', () => {
  const principals = new Principals();
  const of = (principal: string, rights: unknown[], minions: string[] = []) =>
    sightOf({ principal, acl: readAcl(rights), matching: () => new Set(minions) }, principals);

  it('is one for all readers with the same rights on the same minions, of one name', () => {
    const rights = [{ 'web*': ['test.*'] }];
    const { key } = of('anne', rights, ['web1']);
    expect(of('anne', rights, ['web1']).key).toBe(key);
    expect(of('anne', rights, ['web1', 'web2']).key).not.toBe(key);
    expect(of('anne', [{ 'web*': ['test.ping'] }], ['web1']).key).not.toBe(key);
    expect(of('bob', rights, ['web1']).key).not.toBe(key);
  });

  it('shows returns of others by the rights to the function', () => {
    const sight = of('anne', [{ 'web*': ['test.*'] }], ['web1']);
    const ret = (id: string, fun: string) =>
      eventOf(`salt/job/${JID}/ret/${id}`, mapOf({ fun, fun_args: [] }), 'ret');
    expect(sight.sees(ret('web1', 'test.ping'))).toBe(true);
    expect(sight.sees(ret('db1', 'test.ping'))).toBe(false);
    expect(sight.sees(ret('web1', 'cmd.run'))).toBe(false);
    expect(sight.sees(eventOf('deploy/done'))).toBe(false);
  });
});

it('an event depends on a job as long as it is not known whether its reader began it', () => {
  const principals = new Principals();
  const anne = { principal: 'anne', acl: readAcl([]), matching: () => new Set<string>() };
  const bert = { ...anne, principal: 'bert' };
  const returned = eventOf(`salt/job/${JID}/ret/web1`, mapOf({ fun: 'test.ping' }));
  const sees = (reader: typeof anne) => sightOf(reader, principals).sees(returned);
  expect(unknownJobOf(anne, returned, principals)).toBe(JID);
  principals.learn('bert', [JID], new Set());
  expect([unknownJobOf(bert, returned, principals), sees(bert)]).toEqual([undefined, false]);
  expect(unknownJobOf(anne, returned, principals)).toBe(JID);
  principals.learn('anne', [JID], new Set([JID]));
  expect([unknownJobOf(anne, returned, principals), sees(anne)]).toEqual([undefined, true]);
  expect(sees(bert)).toBe(false);
  expect(unknownJobOf(anne, eventOf('site/one'), principals)).toBeUndefined();
  expect(unknownJobOf(anne, eventOf('salt/job/no-jid/ret/web1'), principals)).toBeUndefined();
});
