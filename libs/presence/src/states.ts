import type { MinionState } from './known.ts';

/** What may happen to a minion. */
export type MinionEvent =
  /** A connection at its addresses is its own. */
  | 'arrives'
  /** Its addresses have a connection, which may be another minion's. */
  | 'connects'
  /** Its addresses have no connection. */
  | 'disconnects'
  /** It proved itself, and its addresses have no connection. */
  | 'calls'
  /** It answered a question, and its addresses have no connection. */
  | 'answers'
  /** Its connection is not searched any longer. */
  | 'drops'
  | 'is lost';

/** The state that follows an event. An event that a state does not list changes nothing. */
const TRANSITIONS: {
  readonly [State in MinionState['is']]: { readonly [Event in MinionEvent]?: MinionState['is'] };
} = {
  away: { arrives: 'connected', calls: 'unplaced', answers: 'elsewhere' },
  unplaced: { arrives: 'connected', drops: 'away', answers: 'elsewhere' },
  connected: { disconnects: 'ended', 'is lost': 'away' },
  ended: { connects: 'connected', answers: 'elsewhere', 'is lost': 'away' },
  elsewhere: { connects: 'connected', answers: 'elsewhere', 'is lost': 'away' },
};

/** When an event happened, and what follows from the end of a connection. Monotonic ms. */
export interface Moment {
  readonly nowMs: number;
  /** A minion whose connection has ended is not lost before. */
  readonly dueMs: number;
  /** The host of the publisher that ended. */
  readonly host: string | undefined;
}

/** A minion that answers without a connection at its addresses is asked again after this. */
export const ELSEWHERE_MS = 600_000;

export const AWAY: MinionState = { is: 'away', present: false };
export const CONNECTED: MinionState = { is: 'connected', present: true };

/** The state of a minion after an event; the same object where nothing changes. */
export function stateAfter(state: MinionState, event: MinionEvent, moment: Moment): MinionState {
  const next = TRANSITIONS[state.is][event];
  return next === undefined ? state : stateOf(next, moment);
}

function stateOf(is: MinionState['is'], { nowMs, dueMs, host }: Moment): MinionState {
  switch (is) {
    case 'away':
      return AWAY;
    case 'unplaced':
      return { is, present: false, sinceMs: nowMs, inquiry: undefined };
    case 'connected':
      return CONNECTED;
    case 'ended':
      return { is, present: true, sinceMs: nowMs, dueMs, host, inquiry: undefined };
    case 'elsewhere':
      return { is, present: true, untilMs: nowMs + ELSEWHERE_MS, inquiry: undefined };
  }
}
