import type { EventReturner } from '@brine/event-return';
import type { QuarantineRow, Refusal } from '@brine/job-cache';
import { expect, test } from 'vitest';
import { RefusedEvents, returnAgain } from './refused-events.ts';

const event = { tag: 't/1', timeMs: 1_234.5, data: Buffer.of(0x80), position: 'p1' };

function scene(kept = 0) {
  const rows: Refusal[] = [];
  const told: string[] = [];
  const clock = { now: 0 };
  const refused = new RefusedEvents({
    putAway: async (row) => {
      rows.push(row);
      return { kind: row.kind, jid: '', id: row.id, state: '' };
    },
    count: async () => kept,
    warn: (text) => void told.push(text),
    now: () => clock.now,
  });
  return { refused, rows, told, clock };
}

test('an event is kept under its own name, the same for each try and each returner', async () => {
  const { refused, rows } = scene();
  await refused.keep('pgjsonb', event, new Error('x'));
  await refused.keep('pgjsonb', { ...event, position: 'p9' }, new Error('x'));
  await refused.keep('http', event, new Error('x'));
  await refused.keep('pgjsonb', { ...event, tag: 't/2' }, new Error('x'));
  const names = rows.map(({ kind, incarnation, seq }) => `${kind} ${incarnation} ${seq}`);
  expect(names[1]).toBe(names[0]);
  expect(new Set(names).size).toBe(3);
  expect(rows[0]).toMatchObject({ id: 'pgjsonb', raw: event.data, receivedAt: 1_234 });
});

test('a returner that refuses everything does not fill the database', async () => {
  const { refused, rows, told, clock } = scene(9_999);
  for (let n = 0; n < 5; n += 1) await refused.keep('http', event, new Error('x'));
  expect(rows).toHaveLength(1);
  expect(told).toEqual(['10000 refused events are in quarantine; more are dropped']);
  clock.now = 120_000;
  await refused.keep('http', event, new Error('x'));
  expect(rows).toHaveLength(2);
});

test('an event out of quarantine goes to the returner that refused it', async () => {
  const { refused, rows } = scene();
  await refused.keep('http', event, new Error('x'));
  const again: unknown[] = [];
  const http = { name: 'http', writeAgain: async (one: unknown) => void again.push(one) };
  const returners = [http as unknown as EventReturner];
  const { about, raw } = rows[0]!;
  const row = { about, raw, storedMs: null, atMs: 5 } as unknown as QuarantineRow;
  expect(await returnAgain(row, returners)).toBe(true);
  expect(again).toEqual([event]);
  expect(await returnAgain({ ...row, about: { ...about, returner: 'gone' } }, returners)).toBe(
    false,
  );
});
