import type { Minion } from './known.ts';

/** How the master knows that a minion is connected. */
export const EVIDENCE = [
  /** It alone has a connection at its address. */
  'connection',
  /** It has an address with others, which has enough connections for all. */
  'shared',
  /** The same, with too few connections: which minions have one is not known. */
  'unclear',
  /** It answers, and has no connection at its addresses. */
  'answers',
  /** Its connection has ended a moment ago. */
  'ended',
] as const;
export type Evidence = (typeof EVIDENCE)[number];

/** What is known of a minion. Times are unix ms. */
export interface KnownMinion {
  readonly present: boolean;
  /** Since when; 0: not known. */
  readonly sinceMs: number;
  /** When it was lost last; 0: never, as far as is known. */
  readonly goneMs: number;
  /** Where it proved itself last; empty where it did not. */
  readonly address: string;
  /** Absent for a minion that is not present. */
  readonly evidence?: Evidence;
}

export function knownOf(minion: Minion): KnownMinion {
  const { state, sinceMs, goneMs, addresses } = minion;
  const { present } = state;
  const about = { present, sinceMs, goneMs, address: addresses[0]?.address ?? '' };
  return present ? { ...about, evidence: evidenceOf(minion) } : about;
}

function evidenceOf({ state, places }: Minion): Evidence {
  if (state.is === 'elsewhere') return 'answers';
  if (state.is === 'ended') return 'ended';
  const open = places.filter(({ total }) => total > 0);
  if (open.some(({ minions }) => minions.size === 1)) return 'connection';
  return open.every(({ shortage }) => shortage !== undefined) ? 'unclear' : 'shared';
}
