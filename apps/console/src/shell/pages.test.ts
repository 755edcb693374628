import type { Me } from '@brine/api';
import { expect, test } from 'vitest';
import { PAGES, pagesFor } from './pages.ts';

function me(...rights: string[]): Me {
  return {
    principal: 'alice',
    eauth: 'pam',
    groups: [],
    expires: '2026-11-30T09:15:00Z',
    readsAll: false,
    clients: ['local', 'runner', 'wheel'],
    rights: rights.map((on) => ({ on, functions: [{ fun: '.*' }] })),
  };
}

test('each page has a key of its own', () => {
  expect(new Set(PAGES.map(({ key }) => key)).size).toBe(PAGES.length);
  expect(new Set(PAGES.map(({ path }) => path)).size).toBe(PAGES.length);
});

test('a menu has the pages that have something for its user', () => {
  const names = (given: Me | undefined): readonly string[] =>
    pagesFor(given).map(({ path }) => path);
  expect(names(undefined)).toEqual(PAGES.map(({ path }) => path));
  expect(names(me('@runner', '@wheel', '*', '@jobs', '@events'))).toEqual(names(undefined));
  const narrow = names(me('*'));
  expect(narrow).toContain('/');
  expect(narrow).not.toContain('/audit');
  expect(names(me('@audit'))).toContain('/audit');
  // The page is a call of a runner.
  expect(names({ ...me('@audit'), clients: ['local'] })).not.toContain('/audit');
});
