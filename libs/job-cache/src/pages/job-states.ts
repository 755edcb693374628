import type { Pool } from 'pg';
import { select } from '../connection/query.ts';
import type { Outcome } from './state-run.ts';

/** What a state came to on the minions of a job. */
export interface StateLine {
  /** As `file.managed motd (/etc/motd)`. */
  readonly id: string;
  readonly ok: number;
  readonly changed: number;
  readonly failed: number;
  /** It would change, with `test=True`. */
  readonly would: number;
  /** The longest time on a minion, ms. */
  readonly slowestMs: number;
  /** That minion. */
  readonly slowest: string;
}

/** The states of a job. */
export interface StateLines {
  /** Minions that returned a run of states. */
  readonly minions: number;
  /** Those with failures first, then those with changes, then by name. */
  readonly states: readonly StateLine[];
  /** States beyond those. */
  readonly more: number;
}

const RUNS = `
SELECT id, list::text, outcomes, durations FROM brine.digests
WHERE jid = $1 AND list IS NOT NULL AND ($2::text[] IS NULL OR id = ANY ($2)) ORDER BY id`;
const LISTS = 'SELECT list::text, ids FROM brine.state_lists WHERE jid = $1';

interface Run {
  readonly id: string;
  readonly list: string;
  readonly outcomes: string;
  readonly durations: number[];
}

const FIELDS: Readonly<Record<Outcome, 'ok' | 'changed' | 'failed' | 'would'>> = {
  o: 'ok',
  c: 'changed',
  f: 'failed',
  w: 'would',
};

/** The states of a job, of whose returns digests are kept. */
export async function jobStates(
  pool: Pool,
  jid: string,
  { limit, ids }: { readonly limit: number; readonly ids?: readonly string[] },
): Promise<StateLines> {
  const lists = await select<{ list: string; ids: string[] }>(pool, LISTS, [jid]);
  const runs = await select<Run>(pool, RUNS, [jid, ids ?? null]);
  const names = new Map(lists.map(({ list, ids: states }) => [list, states]));
  const found = new Map<string, { -readonly [Key in keyof StateLine]: StateLine[Key] }>();
  for (const { id, list, outcomes, durations } of runs) {
    const states = names.get(list) ?? [];
    for (const [at, name] of states.entries()) {
      const line = found.get(name) ?? { id: name, ...NOTHING };
      found.set(name, line);
      line[FIELDS[(outcomes[at] ?? 'o') as Outcome]] += 1;
      const ms = durations[at] ?? 0;
      if (line.slowest !== '' && ms <= line.slowestMs) continue;
      line.slowestMs = ms;
      line.slowest = id;
    }
  }
  const all = [...found.values()].sort(
    (one, other) =>
      other.failed - one.failed || other.changed - one.changed || (one.id < other.id ? -1 : 1),
  );
  return {
    minions: runs.length,
    states: all.slice(0, limit),
    more: Math.max(0, all.length - limit),
  };
}

const NOTHING = { ok: 0, changed: 0, failed: 0, would: 0, slowestMs: 0, slowest: '' };
