import { expect, test } from 'vitest';
import { firstState, type Key, pressed, type TopState } from './state.ts';

const SEEN = { rows: 10, page: 4, jids: ['1', '2', '3'] };

/** What a row of keys makes of the first state. */
function after(keys: readonly (string | Key)[], from: Partial<TopState> = {}): TopState {
  let state: TopState = { ...firstState(2_000), ...from };
  for (const key of keys) {
    const given = typeof key === 'string' ? { name: key, sequence: key } : key;
    state = pressed(state, given, SEEN).state;
  }
  return state;
}

test('digits and arrows choose what is shown, and begin at its first row', () => {
  expect(after(['down', '3'])).toMatchObject({ view: 'jobs', row: 0 });
  expect(after(['tab', 'tab', 'left']).view).toBe('queues');
  expect(after(['left']).view).toBe('minions');
  expect(after(['9', '0']).view).toBe('services');
});

test('the marked row stays on the list', () => {
  expect(after(['up']).row).toBe(0);
  expect(after(['pagedown', 'pagedown', 'pagedown', 'down']).row).toBe(9);
  expect(after(['end', 'k', 'pageup']).row).toBe(4);
  expect(
    pressed(firstState(1_000), { name: 'down' }, { rows: 0, page: 1, jids: [] }).state.row,
  ).toBe(0);
});

test('Enter opens the marked job, Escape goes back', () => {
  const opened = after(['3', 'down', 'return']);
  expect(opened).toMatchObject({ view: 'jobs', jid: '2', row: 0 });
  expect(after(['escape'], opened).jid).toBeUndefined();
  expect(after(['return']).jid).toBeUndefined();
});

test('keys go to the filter while it is typed, also q and digits', () => {
  const typed = after(['/', 'q', '3', { name: 'backspace' }, 'w', { sequence: '\x1b[A' }]);
  expect(typed).toMatchObject({ typing: true, filter: 'qw', view: 'services' });
  expect(after(['return'], typed)).toMatchObject({ typing: false, filter: 'qw' });
  expect(after(['escape'], typed)).toMatchObject({ typing: false, filter: '' });
  expect(
    after(
      Array.from({ length: 99 }, () => 'x'),
      { typing: true },
    ).filter,
  ).toHaveLength(40);
});

test('q and Ctrl-C end it, Ctrl-C also in the filter; Ctrl-Z suspends', () => {
  const wish = (key: Key, state: Partial<TopState> = {}) =>
    pressed({ ...firstState(1_000), ...state }, key, SEEN).wish;
  expect(wish({ name: 'q' })).toBe('quit');
  expect(wish({ name: 'c', ctrl: true }, { typing: true })).toBe('quit');
  expect(wish({ name: 'z', ctrl: true })).toBe('suspend');
  expect(wish({ name: 'r' })).toBe('refresh');
  expect(wish({ name: 'x' })).toBeUndefined();
});

test('the time between looks has bounds', () => {
  expect(after(['+', '+']).everyMs).toBe(10_000);
  expect(after(Array.from({ length: 9 }, () => '+')).everyMs).toBe(60_000);
  expect(after(Array.from({ length: 9 }, () => '-')).everyMs).toBe(500);
  expect(after(['p']).paused).toBe(true);
  expect(after(['?']).help).toBe(true);
});
