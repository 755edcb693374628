import { expect, test } from 'vitest';
import { claimIn, claimOf, plainAddress } from './address.ts';
import { ConnectionBoard } from './connection-board.ts';
import { ProofBoard } from './proof-board.ts';
import {
  packProofs,
  packReport,
  PLACES_PER_REPORT,
  PROOFS_PER_MESSAGE,
  readProofs,
  readReport,
} from './reports.ts';

test('reports and proofs are read as they were packed', () => {
  const board = new ConnectionBoard('p1', 'a');
  board.opened('10.0.0.1');
  board.opened('10.0.0.1');
  board.opened('fd00::1');
  board.closed('fd00::1');
  const changes = board.changes();
  expect(readReport(packReport(changes))).toEqual({
    by: 'p1',
    host: 'a',
    n: 0,
    kind: 'changes',
    places: [
      ['10.0.0.1', 2, 2],
      ['fd00::1', 0, 1],
    ],
  });
  const [whole] = board.whole();
  expect(whole).toMatchObject({ n: 1, kind: 'whole', part: 0, of: 1, places: [['10.0.0.1', 2]] });
  expect(readReport(packReport(board.bye()))).toEqual({ by: 'p1', host: 'a', n: 2, kind: 'bye' });
  const proofs = [{ id: 'web1', address: '10.0.0.1', agoMs: 12, answers: true }];
  expect(readProofs(packProofs(proofs))).toEqual(proofs);
});

test('other bytes are not read', () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('hello'),
    Buffer.from([0xc1]),
    packProofs([]),
  ]) {
    expect(readReport(bytes)).toBeUndefined();
  }
  const long = {
    by: 'p',
    host: 'a',
    n: 0,
    kind: 'changes',
    places: [['x'.repeat(500), 1]],
  } as const;
  expect(readReport(packReport(long))).toBeUndefined();
  const bad = { by: 'p', host: 'a', n: -1, kind: 'bye' } as const;
  expect(readReport(packReport(bad))).toBeUndefined();
  expect(readProofs(Buffer.from([0x93, 1, 2, 3]))).toBeUndefined();
});

test('a report has a bounded number of places, and the rest comes next', () => {
  const board = new ConnectionBoard('p1', 'a');
  const all = PLACES_PER_REPORT * 2 + 7;
  for (let at = 0; at < all; at += 1) board.opened(`fd00::${at.toString(16)}`);
  const sizes = [board.changes(), board.changes(), board.changes(), board.changes()].map(
    (report) => (report.kind === 'bye' ? -1 : report.places.length),
  );
  expect(sizes).toEqual([PLACES_PER_REPORT, PLACES_PER_REPORT, 7, 0]);
  const parts = board.whole();
  expect(parts.map((part) => part.n)).toEqual([4, 5, 6]);
  for (const part of parts) expect(packReport(part).length).toBeLessThan(200_000);
});

test('a connection that was replaced between two reports came', () => {
  const board = new ConnectionBoard('p1', 'a');
  board.opened('10.0.0.1');
  board.changes();
  board.closed('10.0.0.1');
  board.opened('10.0.0.1');
  expect(board.changes()).toMatchObject({ places: [['10.0.0.1', 1, 1]] });
  board.closed('10.0.0.1');
  board.opened('10.0.0.2');
  expect(board.changes()).toMatchObject({
    places: [
      ['10.0.0.1', 0, 0],
      ['10.0.0.2', 1, 1],
    ],
  });
  board.opened('10.0.0.1');
  board.closed('10.0.0.2');
  expect(board.places).toBe(1);
  board.closed('10.0.0.1');
  expect(board.places).toBe(0);
});

test('a worker reports each minion once, with its last address', () => {
  const board = new ProofBoard();
  board.add('web1', '10.0.0.1', true, 1_000);
  board.add('web1', '', false, 1_200);
  board.add('web2', '10.0.0.2', false, 1_100);
  expect(board.take(1_500)).toEqual([
    [
      { id: 'web1', address: '10.0.0.1', agoMs: 300, answers: true },
      { id: 'web2', address: '10.0.0.2', agoMs: 400, answers: false },
    ],
  ]);
  expect(board.take(1_600)).toEqual([]);
  for (let at = 0; at < PROOFS_PER_MESSAGE + 1; at += 1) board.add(`m${at}`, '10.0.0.1', false, 1);
  expect(board.take(1).map((message) => message.length)).toEqual([PROOFS_PER_MESSAGE, 1]);
  for (let at = 0; at < 30_000; at += 1) board.add(`m${at}`, '10.0.0.1', false, 1);
  expect(board.leftOut).toBe(10_000);
});

test('addresses have one form', () => {
  expect(plainAddress('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(plainAddress('::FFFF:10.0.0.1')).toBe('10.0.0.1');
  expect(plainAddress('FE80::1%eth0')).toBe('fe80::1');
  expect(plainAddress('10.0.0.1')).toBe('10.0.0.1');
});

test('a connection claims one id or none', () => {
  const claim = claimOf('web1');
  expect(claim).toMatch(/^[0-9a-f]{40}$/);
  expect(claimIn(['broadcast', claim])).toBe(claim);
  expect(claimIn(['', 'broadcast'])).toBeUndefined();
  expect(claimIn([claim, claimOf('web2')])).toBeUndefined();
});
