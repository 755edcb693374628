import type { Overview } from '@brine/api/fleet';
import { expect, test } from 'vitest';
import { masterPlace, minionLines, openedBy, silentJob, stepsDone } from './first-minute.ts';

function fleet(accepted: number, yes = accepted): Pick<Overview, 'fleet'> {
  return {
    fleet: {
      total: accepted,
      facets: {
        key: { accepted, pending: 0, rejected: 0, denied: 0 },
        present: { yes, no: accepted - yes },
        grains: [],
      },
    },
  };
}

const NOTHING = { opened: [], isDismissed: false } as const;

test('steps tick by what is there, and by what was opened', () => {
  expect([...stepsDone(fleet(1), 0, NOTHING)]).toEqual([]);
  expect([...stepsDone(fleet(2), 1, NOTHING)]).toEqual(['minions', 'ping']);
  expect([...stepsDone(fleet(2), 1, { ...NOTHING, opened: ['trace', 'why'] })]).toEqual([
    'minions',
    'ping',
    'trace',
    'why',
  ]);
  expect(stepsDone(fleet(3), 1, NOTHING).has('own')).toBe(true);
});

test('the trace and the causes of a job are steps, other pages are none', () => {
  expect(openedBy('/jobs/20261130091500000000', { tab: 'trace' })).toBe('trace');
  expect(openedBy('/jobs/20261130091500000000', { tab: 'why' })).toBe('why');
  expect(openedBy('/jobs/20261130091500000000', { tab: 'minions' })).toBe(undefined);
  expect(openedBy('/jobs', { tab: 'trace' })).toBe(undefined);
  expect(openedBy('/minions/a', { tab: 'why' })).toBe(undefined);
});

test('a job is silent once its minions had time to answer', () => {
  const published = '2026-11-30T09:15:00Z';
  const counts = {
    targeted: 2,
    returned: 1,
    failed: 0,
    late: 0,
    waiting: 1,
    never: 0,
    unexpected: 0,
  };
  const job = { jid: '20261130091500000000', published, counts };
  const seen = (afterMs: number) => silentJob([job], Date.parse(published) + afterMs);
  expect(seen(100)).toBeUndefined();
  expect(seen(5_000)).toBe('20261130091500000000');
  const answered = { ...counts, returned: 2, waiting: 0 };
  expect(silentJob([{ ...job, counts: answered }], Infinity)).toBeUndefined();
});

test('a minion finds the master where it listens, else where the page is', () => {
  const values = { interface: '10.0.0.5', ret_port: 14_506 };
  expect(minionLines(masterPlace(values, 'salt.example'))).toEqual([
    'id: my-minion',
    'master: "10.0.0.5"',
    'master_port: 14506',
  ]);
  expect(masterPlace({ ...values, interface: '0.0.0.0' }, 'salt.example').host).toBe(
    'salt.example',
  );
  expect(masterPlace({ ...values, interface: '127.0.0.1' }, 'x').isLocal).toBe(true);
  expect(masterPlace(undefined, 'salt.example')).toEqual({
    host: 'salt.example',
    port: 4506,
    isKnown: false,
    isLocal: false,
  });
});
