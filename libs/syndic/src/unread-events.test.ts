import { TestClock } from '@brine/testing';
import type { SaltMap } from '@brine/wire';
import { mapOf, pack } from '@brine/wire';
import { parseSyndicReturn } from '@brine/wire/load';
import { expect, test } from 'vitest';
import type { LaneSettings } from './forward-lane.ts';
import { ForwardLane } from './forward-lane.ts';
import type { EventToForward, KnownJob } from './ports.ts';
import { RecentJobs } from './recent-jobs.ts';

const JID = '20231114221320000001';
const BAD = '20231114221320000002';
const SETTINGS: LaneSettings = {
  id: 'syn',
  masterId: 'below',
  mode: 'sync',
  pauseMs: 0,
  loadsRemembered: 2,
  keepMs: 3_600_000,
};

function returned(minion: string, jid: string, acked: string[]): EventToForward {
  const data = mapOf({ jid, id: minion, fun: 'test.ping', return: true, retcode: 0 });
  return {
    key: minion,
    tag: `salt/job/${jid}/ret/${minion}`,
    jid,
    minion,
    size: 100,
    timeMs: new TestClock().nowMs(),
    data: () => Promise.resolve(data),
    ack: () => void acked.push(minion),
    giveBack: () => undefined,
  };
}

function lane(find: (jid: string) => KnownJob | undefined) {
  const loads: SaltMap[] = [];
  const told: string[] = [];
  const tell = (_fields: object, text: string): void => void told.push(text);
  const send = (load: SaltMap) => {
    loads.push(load);
    return Promise.resolve('taken' as const);
  };
  const forward = new ForwardLane(
    {
      above: { name: 'above', send } as never,
      jobs: { find: (jid) => Promise.resolve(jid).then(find) },
      isFor: () => true,
      clock: new TestClock(),
      log: { info: tell, warn: tell, error: tell },
    },
    SETTINGS,
  );
  return { forward, loads, told };
}

test('an event that can not be judged is given up, reported once, delays no other', async () => {
  const { forward, loads, told } = lane((jid) => {
    if (jid === BAD) throw new RangeError('odd');
    return { askers: new Set(), load: mapOf({}) };
  });
  const acked: string[] = [];
  const group = ['a', 'b', 'c', 'd'].map((minion) =>
    returned(minion, minion < 'c' ? BAD : JID, acked),
  );
  await forward.forward(group, new AbortController().signal);
  const minions = loads.flatMap(parseSyndicReturn).flatMap(({ returns }) => [...returns.keys()]);
  expect(minions).toEqual(['c', 'd']);
  expect(acked.sort()).toEqual(['a', 'b', 'c', 'd']);
  expect(forward.stats).toMatchObject({ returns: 2, lost: 2 });
  expect(told).toHaveLength(1);
});

test('a job whose load is no map goes up without it', async () => {
  const jobs = new RecentJobs();
  const record = { jid: JID, load: Buffer.from('c1', 'hex'), minions: ['a'], requestId: '' };
  jobs.add(record);
  jobs.add({ ...record, jid: 'other', load: pack(7) });
  for (const jid of [JID, 'other']) {
    expect(jobs.find(jid)?.load).toEqual(mapOf({ jid, Minions: ['a'] }));
  }
  const { forward, loads } = lane((jid) => jobs.find(jid));
  await forward.forward([returned('a', JID, [])], new AbortController().signal);
  expect(loads.flatMap(parseSyndicReturn)).toHaveLength(1);
});
