import type { Me } from '@brine/api';
import { hasRight, mayCall } from '../state/rights.ts';

/** A page as the menu, the palette and the keys know it. */
export interface PageEntry {
  readonly path: string;
  readonly name: string;
  /** After `g`. */
  readonly key: string;
  /** The question that it answers. */
  readonly question: string;
  /** Whether it has anything for a caller; without it, it is for all. */
  readonly isFor?: (me: Me) => boolean;
}

/** All pages of the menu, in its order. */
export const PAGES: readonly PageEntry[] = [
  { path: '/', name: 'Overview', key: 'o', question: 'Is anything not as it should be?' },
  {
    path: '/minions',
    name: 'Minions',
    key: 'm',
    question: 'Which minions are not there, or not like the others?',
  },
  {
    path: '/keys',
    name: 'Keys',
    key: 'k',
    question: 'Who wants in?',
    isFor: ({ rights }) => hasRight(rights, 'wheel', 'key.list_all'),
  },
  { path: '/jobs', name: 'Jobs', key: 'j', question: 'What runs, what failed?' },
  { path: '/run', name: 'Run', key: 'r', question: 'What will this touch?' },
  { path: '/batches', name: 'Batches', key: 'b', question: 'Where does it stand?' },
  { path: '/runs', name: 'Runs', key: 'u', question: 'What did the master itself run?' },
  { path: '/events', name: 'Events', key: 'e', question: 'What happened at 02:13?' },
  { path: '/drift', name: 'Drift', key: 'd', question: 'Which minions are not in their state?' },
  {
    path: '/reactor',
    name: 'Reactor',
    key: 'c',
    question: 'Did it react?',
    isFor: (me) => mayCall(me, 'runner', 'reactor.failed'),
  },
  {
    path: '/schedule',
    name: 'Schedule',
    key: 's',
    question: 'When is it due?',
    isFor: (me) => mayCall(me, 'runner', 'schedule.status'),
  },
  {
    path: '/audit',
    name: 'Audit',
    key: 'a',
    question: 'Who did this?',
    isFor: (me) => mayCall(me, 'runner', 'audit.list'),
  },
  {
    path: '/services',
    name: 'Services',
    key: 'v',
    question: 'Which part is ill?',
    isFor: ({ rights }) => hasRight(rights, 'runner', 'manage.status'),
  },
  { path: '/settings', name: 'Settings', key: 't', question: 'How do I want to see it?' },
];

/** The pages that are drawn for a caller; all of them while it is not known who asks. */
export function pagesFor(me: Me | undefined): readonly PageEntry[] {
  return PAGES.filter(({ isFor }) => me === undefined || isFor === undefined || isFor(me));
}
