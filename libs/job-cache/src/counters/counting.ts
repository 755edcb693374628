import { isJid, jidTimeMs } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import { listOf, textOf } from '@brine/wire';
import type { JobRow, ReturnRow } from '../save/rows.ts';
import type { CountLabels } from './count-labels.ts';
import { SEPARATOR } from './count-labels.ts';
import type { Counting } from './count-rows.ts';
import { durationBucket } from './count-rows.ts';

/** A duration beyond this is no duration: a clock or a jid is wrong. Ms. */
const MAX_DURATION_MS = 7 * 24 * 3600 * 1000;

/** What a job counts as, once it is published. */
export function countingOfJob(row: JobRow, load: SaltMap, labels: CountLabels): Counting {
  const name = [row.fun].flat().join(',');
  const fun = labels.fun(name, row.bornOfReturn !== true);
  const of = [fun, labels.state(name, listOf(load, 'arg'))];
  return {
    kind: of.join(SEPARATOR),
    amount: row.minions.length,
    increments: () => [
      { metric: 'jobs', labels: of },
      { metric: 'targeted', labels: of, amount: true },
    ],
  };
}

/** What a return counts as. */
export function countingOfReturn(
  row: ReturnRow,
  load: SaltMap,
  told: { readonly fun: string; readonly failed: boolean },
  labels: CountLabels,
): Counting {
  const fun = labels.fun(told.fun, false);
  const success = told.failed ? 'false' : 'true';
  const of = [fun, labels.state(told.fun, listOf(load, 'fun_args')), success];
  const metric = (textOf(load, 'schedule') ?? '') === '' ? 'returns' : 'scheduled';
  const minion = labels.minion(row.id);
  const ms = durationOf(row);
  const duration = [fun, String(durationBucket(ms))] as const;
  return {
    kind: [metric, ...of, duration[1], minion].join(SEPARATOR),
    amount: ms,
    duration,
    increments: () => [
      { metric, labels: of },
      { metric: 'responses', labels: [minion, success] },
      { metric: 'duration', labels: duration },
      { metric: 'duration_sum', labels: [fun], amount: true },
    ],
  };
}

/** From the publication, whose moment is in the jid, to the return; 0 where clocks disagree. */
export function durationOf({ jid, receivedAt }: Pick<ReturnRow, 'jid' | 'receivedAt'>): number {
  if (!isJid(jid)) return 0;
  const ms = receivedAt - jidTimeMs(jid);
  return ms >= 0 && ms <= MAX_DURATION_MS ? ms : 0;
}
