import { expect, test } from 'vitest';
import type { MinionState } from './known.ts';
import { AWAY, CONNECTED, ELSEWHERE_MS, type MinionEvent, stateAfter } from './states.ts';

const moment = { nowMs: 1_000, dueMs: 31_000, host: 'a' };

/** The state of a minion after these events, one after the other. */
function after(first: MinionState, ...events: readonly MinionEvent[]): MinionState {
  return events.reduce((state, event) => stateAfter(state, event, moment), first);
}

test('a minion whose connection ends has a grace, and is away when it is lost', () => {
  expect(after(AWAY, 'arrives')).toEqual({ is: 'connected', present: true });
  const ended = after(AWAY, 'arrives', 'disconnects');
  expect(ended).toMatchObject({ is: 'ended', present: true, sinceMs: 1_000, dueMs: 31_000 });
  expect(after(ended, 'connects')).toBe(CONNECTED);
  expect(after(ended, 'is lost')).toBe(AWAY);
});

test('a connection at the address of an absent minion may be of another one', () => {
  expect(after(AWAY, 'connects')).toBe(AWAY);
  expect(after(AWAY, 'calls', 'connects').is).toBe('unplaced');
});

test('an answer makes a minion present that has no connection at its addresses', () => {
  for (const state of [AWAY, after(AWAY, 'calls'), after(CONNECTED, 'disconnects')]) {
    expect(after(state, 'answers')).toMatchObject({
      is: 'elsewhere',
      present: true,
      untilMs: 1_000 + ELSEWHERE_MS,
    });
  }
});

test('the end of a connection changes nothing for a minion that has none', () => {
  for (const state of [AWAY, after(AWAY, 'calls'), after(AWAY, 'answers')]) {
    expect(after(state, 'disconnects')).toBe(state);
  }
});
