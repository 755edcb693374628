import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyHash } from './key-dirs.ts';
import type { KeyFiles } from './key-store.ts';
import type { AgreedKey, KeyRecord, StoredKey } from './reconcile.ts';
import { agreedOn, reconcileKey, recordFor, vanishLimit } from './reconcile.ts';

const A = 'key a';
const B = 'key b';
const agreed = (state: 'accepted' | 'pending' | 'rejected', pub: string, revision = 5) =>
  ({ state, hash: keyHash(pub), revision }) satisfies AgreedKey;
const stored = (state: KeyRecord['state'], pub: string, revision = 5): StoredKey => ({
  record: { state, pub: state === 'deleted' ? '' : pub, at: 1 },
  revision,
});
const file = (state: 'accepted' | 'pending' | 'rejected', pub: string): KeyFiles => ({
  state,
  pub,
});

type Row = readonly [
  claim: string,
  journal: AgreedKey | undefined,
  files: KeyFiles,
  record: StoredKey | undefined,
  target: string,
  acts: string,
];
const TABLE: readonly Row[] = [
  ['nothing anywhere is nothing', undefined, {}, undefined, '-', ''],
  [
    'without a journal a file is imported',
    undefined,
    file('accepted', A),
    undefined,
    'accepted a',
    'R',
  ],
  [
    'without a journal the record fills an empty store',
    undefined,
    {},
    stored('accepted', A),
    'accepted a',
    'F',
  ],
  [
    'without a journal the record wins',
    undefined,
    file('accepted', A),
    stored('rejected', A),
    'rejected a',
    'F!',
  ],
  [
    'a stale replica does not bring a deleted key back',
    undefined,
    file('accepted', A),
    stored('deleted', A),
    '-',
    'F!',
  ],
  [
    'what agrees is left alone',
    agreed('accepted', A),
    file('accepted', A),
    stored('accepted', A),
    'accepted a',
    '',
  ],
  ['a new pending record reaches the files', undefined, {}, stored('pending', A), 'pending a', 'F'],
  [
    'salt-key -a is a change of the file',
    agreed('pending', A),
    file('accepted', A),
    stored('pending', A),
    'accepted a',
    'R',
  ],
  [
    'a change of the record moves the file',
    agreed('pending', A),
    file('pending', A),
    stored('accepted', A, 6),
    'accepted a',
    'F',
  ],
  [
    'both changed alike',
    agreed('pending', A),
    file('accepted', A),
    stored('accepted', A, 6),
    'accepted a',
    '',
  ],
  [
    'both changed differently: the record wins',
    agreed('pending', A),
    file('accepted', A),
    stored('rejected', A, 6),
    'rejected a',
    'F!',
  ],
  ['salt-key -d is a vanished file', agreed('accepted', A), {}, stored('accepted', A), '-', 'R?'],
  [
    'a deletion in the record removes the file',
    agreed('accepted', A),
    file('accepted', A),
    stored('deleted', A, 6),
    '-',
    'F',
  ],
  [
    'an absent record deletes nothing',
    agreed('accepted', A),
    file('accepted', A),
    undefined,
    'accepted a',
    'R',
  ],
  [
    'a record that went back does not win',
    agreed('rejected', A, 9),
    file('rejected', A),
    stored('accepted', A, 4),
    'rejected a',
    'R',
  ],
  [
    'a record that went back does not bring a deleted key back',
    { revision: 9 },
    {},
    stored('accepted', A, 4),
    '-',
    'R?',
  ],
  [
    'a minion that was deleted may come again',
    { revision: 9 },
    {},
    stored('pending', B, 10),
    'pending b',
    'F',
  ],
  [
    'a file that was changed in place is a change',
    agreed('accepted', A),
    file('accepted', B),
    stored('accepted', A),
    'accepted b',
    'R',
  ],
];

const letter = (pub: string | undefined): string => pub?.slice(-1) ?? '';
const shown = (target: KeyFiles): string =>
  target.state ? `${target.state} ${letter(target.pub)}` : '-';

describe('reconcileKey', () => {
  it.each(TABLE)('%s', (_claim, journal, files, record, target, acts) => {
    const decision = reconcileKey(journal, files, record);
    const flags =
      (decision.writeFiles ? 'F' : '') +
      (decision.writeRecord ? 'R' : '') +
      (decision.vanished ? '?' : '') +
      (decision.conflict ? '!' : '');
    expect([shown(decision.target), flags]).toEqual([target, acts]);
  });

  it('keeps a denied key beside the accepted one', () => {
    const record: StoredKey = {
      record: { state: 'accepted', pub: A, denied: ['x', B], at: 1 },
      revision: 6,
    };
    const decision = reconcileKey(agreed('accepted', A), file('accepted', A), record);
    expect(decision.target).toEqual({ state: 'accepted', pub: A, denied: B });
    expect(recordFor(decision.target, record, 2).denied).toEqual(['x', B]);
  });

  it('forgets all denied keys when the denied file was deleted', () => {
    const record: StoredKey = {
      record: { state: 'accepted', pub: A, denied: ['x', B], at: 1 },
      revision: 5,
    };
    const journal = { ...agreed('accepted', A), denied: keyHash(B) };
    const decision = reconcileKey(journal, file('accepted', A), record);
    expect(decision.vanished).toBe(true);
    expect(recordFor(decision.target, record, 2).denied).toBeUndefined();
  });
});

const pubs = fc.constantFrom(A, B);
const states = fc.constantFrom('accepted' as const, 'pending' as const, 'rejected' as const);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const anyFiles: fc.Arbitrary<KeyFiles> = fc
  .tuple(optional(fc.tuple(states, pubs)), optional(pubs))
  .map(([key, denied]) => ({
    ...(key && { state: key[0], pub: key[1] }),
    ...(denied !== undefined && { denied }),
  }));
const anyAgreed = optional(
  fc.tuple(anyFiles, fc.nat(9)).map(([files, revision]) => agreedOn(files, revision)),
);
const anyStored = optional(
  fc
    .tuple(anyFiles, fc.integer({ min: 1, max: 9 }))
    .map(([files, revision]) => ({ record: recordFor(files, undefined, 1), revision })),
);

describe('for any journal, files and record', () => {
  it('one step makes both sides the same, and a second step does nothing', () => {
    fc.assert(
      fc.property(anyAgreed, anyFiles, anyStored, (journal, files, record) => {
        const decision = reconcileKey(journal, files, record);
        const after = decision.writeFiles ? decision.target : files;
        expect(after).toEqual(decision.target);
        const revision = (record?.revision ?? 0) + 10;
        const recordAfter = decision.writeRecord
          ? { record: recordFor(decision.target, record, 2), revision }
          : record;
        const next = agreedOn(decision.target, recordAfter?.revision ?? 0);
        const second = reconcileKey(next, after, recordAfter);
        expect(second).toMatchObject({ writeFiles: false, writeRecord: false, vanished: false });
        expect(second.target).toEqual(decision.target);
      }),
    );
  });

  it('without a journal nothing is deleted from the record', () => {
    fc.assert(
      fc.property(anyFiles, anyStored, (files, record) => {
        const decision = reconcileKey(undefined, files, record);
        expect(decision.vanished).toBe(false);
        if (record !== undefined && decision.writeRecord) throw new Error('record overwritten');
      }),
    );
  });

  it('an absent record never removes a file', () => {
    fc.assert(
      fc.property(anyAgreed, anyFiles, (journal, files) => {
        expect(reconcileKey(journal, files, undefined).writeFiles).toBe(false);
      }),
    );
  });
});

describe('vanishLimit', () => {
  it('is ten keys, or one in twenty of a large fleet', () => {
    expect([0, 200, 201, 1000, 100_000].map(vanishLimit)).toEqual([10, 10, 10, 50, 5000]);
  });
});
