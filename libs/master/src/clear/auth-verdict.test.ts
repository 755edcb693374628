import type { KeyState } from '@brine/job';
import { describe, expect, it } from 'vitest';
import type { MinionKey } from '../ports/key-ports.ts';
import { type AuthFacts, judgeAuth } from './auth-verdict.ts';

const key = (state: KeyState, pub = 'A'): MinionKey => ({ state, pub, denied: [] });
const facts = (more: Partial<AuthFacts>): AuthFacts => ({
  key: undefined,
  pub: 'A',
  openMode: false,
  autosign: 'none',
  full: false,
  ...more,
});

describe('the decision on a sign-in', () => {
  it.each<[string, Partial<AuthFacts>, object]>([
    ['a new key waits', {}, { ret: true, act: 'pend', write: { state: 'pending', pub: 'A' } }],
    [
      'a deleted key is a new one',
      { key: key('deleted') },
      { ret: true, act: 'pend', write: { state: 'pending', pub: 'A' } },
    ],
    [
      'a new key is taken by autosign',
      { autosign: 'accept' },
      { act: 'accept', write: { state: 'accepted', pub: 'A' } },
    ],
    [
      'a new key is refused by autoreject',
      { autosign: 'reject' },
      { ret: false, act: 'reject', write: { state: 'rejected' } },
    ],
    [
      'an accepted key signs in and nothing is written',
      { key: key('accepted') },
      { act: 'accept' },
    ],
    [
      'another key under an accepted id is denied, autosign or not',
      { key: key('accepted', 'B'), autosign: 'accept' },
      { ret: false, act: 'denied', write: { state: 'accepted', pub: 'B', denied: ['A'] } },
    ],
    [
      'a rejected key stays rejected even when autosign would take it',
      { key: key('rejected'), autosign: 'accept' },
      { ret: false, act: 'reject' },
    ],
    ['a pending key goes on waiting', { key: key('pending') }, { ret: true, act: 'pend' }],
    [
      'a pending key is taken by autosign',
      { key: key('pending'), autosign: 'accept' },
      { act: 'accept', write: { state: 'accepted' } },
    ],
    [
      'another key under a pending id is denied',
      { key: key('pending', 'B') },
      { ret: false, act: 'denied', write: { state: 'pending', pub: 'B', denied: ['A'] } },
    ],
    [
      'a pending key is rejected by autoreject',
      { key: key('pending'), autosign: 'reject' },
      { ret: false, act: 'reject', write: { state: 'rejected' } },
    ],
    ['a full master says so first', { full: true, openMode: true }, { ret: 'full', act: 'full' }],
    [
      'open mode takes a changed key over an accepted one',
      { key: key('accepted', 'B'), openMode: true },
      { act: 'accept', write: { state: 'accepted', pub: 'A' } },
    ],
  ])('%s', (_claim, given, expected) => {
    expect(judgeAuth(facts(given))).toMatchObject(expected);
    if (!('write' in expected)) expect(judgeAuth(facts(given)).write).toBeUndefined();
    if (!('ret' in expected)) expect(judgeAuth(facts(given)).ret).toBeUndefined();
  });

  it('keeps a refused key once, and few of them', () => {
    const known: MinionKey = { state: 'accepted', pub: 'B', denied: ['A'] };
    expect(judgeAuth(facts({ key: known })).write).toBeUndefined();
    const many = { ...known, denied: ['1', '2', '3', '4', '5', '6', '7', '8'] };
    expect(judgeAuth(facts({ key: many })).write?.denied).toEqual([
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
      'A',
    ]);
  });
});
