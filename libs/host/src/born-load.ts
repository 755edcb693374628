import type { SaltMap, SaltValue } from '@brine/wire';

/** Fields of a return, or of its event, that do not belong to its job. */
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
 * The load of a job that is known only from a return. A stock master saves the return itself, so
 * its job has no target (Salt: salt/utils/job.py store_job). Here the sender is the target, as in
 * PostgreSQL.
 */
export function bornLoad(jid: string, id: string, data: SaltMap): SaltMap {
  const load: SaltMap = new Map([...data].filter(([key]) => !RETURN_FIELDS.has(key)));
  load.set('jid', jid);
  if (!load.has('arg')) load.set('arg', load.get('fun_args') ?? []);
  if (!load.has('tgt')) load.set('tgt', id);
  if (!load.has('tgt_type')) load.set('tgt_type', 'glob');
  return load;
}
