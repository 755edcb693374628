import type { MapScan } from '@brine/wire';
import { cutFields, listOf, storableText, textOf } from '@brine/wire';
import type { JobRow, ReturnRow } from './rows.ts';

/** Fields of the return that its job does not have. */
const RETURN_FIELDS = [
  'return',
  'retcode',
  'success',
  'out',
  'cmd',
  'ts',
  'sig',
  '_stamp',
] as const;

/** Code points of a text in a column of the job. */
const TEXT_MAX = 1_000;

/**
 * The job of a return that names its own target. Such a job was not published (salt-call, a
 * schedule): salt/utils/job.py store_job sets `tgt`, `tgt_type`, `arg` where the jid was `req`. Its
 * only target is the sender. Undefined for an ordinary return.
 */
export function bornJob(row: ReturnRow, load: MapScan): JobRow | undefined {
  const tgt = textOf(load, 'tgt');
  const tgtType = textOf(load, 'tgt_type');
  if (tgt === undefined || tgtType === undefined) return undefined;
  const names = listOf(load, 'fun')?.filter((name) => typeof name === 'string');
  const user = textOf(load, 'user') ?? '';
  // A minion chooses all of these texts; the load keeps them unchanged.
  const shown = (text: string): string => storableText(text, TEXT_MAX);
  return {
    jid: row.jid,
    load: cutFields(load, RETURN_FIELDS),
    principal: row.id,
    user: shown(user),
    fun: names?.map(shown) ?? shown(textOf(load, 'fun') ?? ''),
    tgt: shown(tgt),
    tgtType: shown(tgtType),
    minions: [row.id],
    missing: [],
    publishedAt: row.receivedAt,
    incarnation: row.incarnation,
    seq: row.seq,
    bornOfReturn: true,
  };
}
