import type { SaltMap, SaltValue } from '@brine/wire';

/** What belongs to the return, or to the event, and not to the job that it tells of. */
const RETURN_FIELDS = new Set<SaltValue>([
  'return',
  'retcode',
  'success',
  'out',
  'cmd',
  'ts',
  'sig',
  '_stamp',
  'minions',
  'missing',
]);

/**
 * The load of a job of which only a return is known. A stock master saves the return itself, whose
 * jobs have no target then (Salt: salt/utils/job.py store_job); here the sender is the target, as
 * the job cache in PostgreSQL tells it.
 */
export function bornLoad(jid: string, id: string, data: SaltMap): SaltMap {
  const load: SaltMap = new Map([...data].filter(([key]) => !RETURN_FIELDS.has(key)));
  load.set('jid', jid);
  if (!load.has('arg')) load.set('arg', load.get('fun_args') ?? []);
  if (!load.has('tgt')) load.set('tgt', id);
  if (!load.has('tgt_type')) load.set('tgt_type', 'glob');
  return load;
}
