import { expect, test } from 'vitest';
import { type Found, grouped, jobOf, matching, searched } from './palette.ts';

const JID = '20261130091500000000';
const PAGES: readonly Found[] = [
  { id: '/jobs', group: 'Pages', label: 'Jobs', description: 'What runs, what failed?' },
  { id: 'log-out', group: 'Acts', label: 'Log out' },
];

test('a jid finds its job, anything else none', () => {
  expect(jobOf(JID)).toMatchObject([{ path: `/jobs/${JID}` }]);
  expect(jobOf(JID.slice(1))).toEqual([]);
  expect(jobOf(`${JID}/../x`)).toEqual([]);
});

test('all words are somewhere in what is found', () => {
  const ids = (word: string): readonly string[] => matching(PAGES, word).map(({ id }) => id);
  expect(ids('')).toEqual(['/jobs', 'log-out']);
  expect(ids('FAILED runs')).toEqual(['/jobs']);
  expect(ids('failed out')).toEqual([]);
});

test('a name that is what was typed goes first', () => {
  const named = (label: string, description = ''): Found => ({
    id: label,
    group: 'Pages',
    label,
    description,
  });
  const pages = [named('Jobs', 'What runs?'), named('Reruns'), named('Runs'), named('Run')];
  expect(matching(pages, 'run').map(({ id }) => id)).toEqual(['Run', 'Runs', 'Reruns', 'Jobs']);
});

test('words of a name go before words beside it', () => {
  const act = (label: string): Found => ({
    id: label,
    group: 'On this page',
    label,
    description: 'nightly jobs.active Run now Disable',
  });
  const found = matching([act('Run now: nightly'), act('Disable: nightly')], 'disable nightly');
  expect(found.map(({ label }) => label)).toEqual(['Disable: nightly', 'Run now: nightly']);
});

test('the API is asked for words that it takes alone', () => {
  expect(searched(' web ')).toBe('web');
  for (const text of ['', '  ', JID, 'x'.repeat(256)]) expect(searched(text)).toBe(undefined);
});

test('each kind is one group, in the order of what was found', () => {
  expect(grouped([...PAGES, ...jobOf(JID)]).map(({ group }) => group)).toEqual([
    'Pages',
    'Acts',
    'Jobs',
  ]);
});
