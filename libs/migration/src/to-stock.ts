import { eachAtOnce } from '@brine/tasks';
import type { BrineHistory } from './edge/brine-side.ts';
import type { StockIntake } from './edge/stock-side.ts';
import type { Tally } from './tally.ts';
import { tokenFile } from './token-records.ts';

/** Files that are written at once. */
const AT_ONCE = 8;

/** Inputs of the way back. */
export interface ToStock {
  readonly brine: BrineHistory;
  readonly stock: StockIntake;
  readonly accepted: ReadonlySet<string>;
  readonly nowMs: number;
  /** Only jobs since then, unix ms: a stock master removes older ones. */
  readonly sinceMs?: number | undefined;
  readonly tally: Tally;
}

/** Exports Brine's data in a stock master's layout. Repeatable, also after a kill. */
export async function toStock(moving: ToStock): Promise<void> {
  const { brine, stock, accepted, nowMs, sinceMs, tally } = moving;
  const kinds = { grains: 'grains', pillar: 'pillars', mine: 'mines' } as const;
  // One at a time: grains and pillar of a minion may share a file.
  for await (const record of brine.banks()) {
    if (!accepted.has(record.id)) continue;
    tally.took(kinds[record.bank], await stock.bank(record));
  }
  const { tokens, nameless } = await brine.tokens(nowMs);
  for (const [token, record] of tokens) {
    tally.took('tokens', await stock.token(tokenFile(token, record)));
  }
  await stock.keepTokens(new Set(tokens.keys()));
  if (nameless > 0) {
    const why = 'tokens that an earlier release made: their users log in again';
    for (let left = 0; left < nameless; left += 1) tally.left('tokens', why, 'one');
  }
  await eachAtOnce(brine.sessions(), AT_ONCE, async (record) => {
    if (accepted.has(record.id)) tally.took('sessions', await stock.session(record));
  });
  await eachAtOnce(brine.jobs(sinceMs), AT_ONCE, async (job) => {
    const taken = await stock.job(job);
    tally.moved('jobs', taken.jobs);
    tally.known('jobs', 1 - taken.jobs);
    tally.moved('returns', taken.returns);
    tally.known('returns', taken.known);
  });
}
