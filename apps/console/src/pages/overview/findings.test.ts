import type { Overview } from '@brine/api/fleet';
import type { JobLine } from '@brine/api/jobs';
import { expect, test } from 'vitest';
import { oddThings } from './findings.ts';

const AT = '2026-11-30T09:15:00Z';

function overview(part: {
  readonly no?: number;
  readonly pending?: number;
  readonly denied?: number;
  readonly quarantined?: number;
  readonly trouble?: string[] | null;
}): Overview {
  const { no = 0, pending = 0, denied = 0, quarantined = 0, trouble = [] } = part;
  return {
    fleet: {
      total: 5,
      facets: {
        key: { accepted: 5, pending, rejected: 0, denied },
        present: { yes: 5 - no, no },
        grains: [],
      },
    },
    jobs: { open: 0, perMinute: [], isWhole: true, quarantined },
    services: null,
    trouble,
    asOf: '1-1_00000000',
  };
}

function failed(jid: string, fun: string, bad: number, targeted: number): JobLine {
  const counts = {
    targeted,
    returned: targeted - bad,
    failed: bad,
    late: 0,
    waiting: 0,
    never: 0,
    unexpected: 0,
  };
  return { jid, fun: [fun], published: AT, deadline: null, counts };
}

test('where all is well, and where nothing is known, nothing is odd', () => {
  expect(oddThings({})).toEqual([]);
  expect(oddThings({ overview: overview({}), failed: { from: AT, jobs: [] } })).toEqual([]);
  expect(oddThings({ overview: overview({ trouble: null }) })).toEqual([]);
});

test('what is bad goes before what is a warning', () => {
  const found = oddThings({
    overview: overview({ no: 2, pending: 1, denied: 1, quarantined: 3, trouble: ['a is missing'] }),
    doctor: {
      host: 'h',
      examined: AT,
      findings: [
        { level: 'warn', check: 'clock', text: 'off', runbook: 'docs/outages.md#clocks' },
        { level: 'bad', check: 'disk', text: 'full', runbook: 'docs/outages.md' },
        { level: 'ok', check: 'node', text: '20', runbook: 'docs/night.md' },
      ],
    },
    failed: { from: AT, jobs: [failed('20261130091500000000', 'state.apply', 3, 1_000)] },
    lostAt: AT,
  });
  expect(found.map(({ id }) => id)).toEqual([
    'service a is missing',
    'doctor disk full',
    'quarantine',
    'failed state.apply',
    'absent',
    'doctor clock off',
    'denied',
    'pending',
  ]);
  expect(found.map(({ level }) => level).lastIndexOf('bad')).toBe(4);
  // Each leads to a page or to the documentation.
  expect(found.filter((one) => one.page === undefined && one.runbook === undefined)).toEqual([]);
});

test('a job that failed leads to itself, some of one function to their list', () => {
  const job = failed('20261130091500000000', 'state.apply', 3, 1_000);
  const one = oddThings({ failed: { from: AT, jobs: [job] } });
  expect(one).toMatchObject([
    { text: 'failed on 3 of 1,000 minions', page: { path: '/jobs/20261130091500000000' } },
  ]);
  const jobs = ['1', '2'].map((n) => failed(`2026113009150000000${n}`, 'a[b].*', 1, 1));
  expect(oddThings({ failed: { from: AT, jobs } })).toMatchObject([
    {
      text: 'failed in 2 jobs of the last hour',
      page: { path: '/jobs', search: { result: 'failed', fun: 'a[[]b].[*]', from: AT } },
    },
  ]);
});

test('a minion that can not describe its functions to the master is nothing odd', () => {
  const job = failed('20261130091500000000', 'sys.argspec', 1, 1);
  const ids = (origin: JobLine['origin']) =>
    oddThings({ failed: { from: AT, jobs: [{ ...job, origin }] } }).map(({ id }) => id);
  expect(ids('run')).toEqual([]);
  expect(ids('cli')).toEqual(['failed sys.argspec']);
});

test('what the overview has by itself is not there again from the doctor', () => {
  const finding = (check: string) =>
    ({ level: 'bad', check, text: 'x', runbook: 'docs/outages.md' }) as const;
  const doctor = {
    host: 'h',
    examined: AT,
    findings: [finding('services'), finding('quarantine')],
  };
  const ids = (known: Overview): readonly string[] =>
    oddThings({ overview: known, doctor }).map(({ id }) => id);
  expect(ids(overview({}))).toEqual(['doctor services x', 'doctor quarantine x']);
  expect(ids(overview({ trouble: ['a'], quarantined: 1 }))).toEqual(['service a', 'quarantine']);
});
