import { isMap, listOf, mapIn, type SaltMap, type SaltValue } from '../value.ts';

/**
 * The metadata of a job, from the load of its publish: `--metadata`, or an argument `metadata=`
 * (salt/runners/jobs.py `_format_job_instance`). Undefined if it has none.
 */
export function metadataOf(load: SaltMap): SaltValue | undefined {
  const direct = load.get('metadata') ?? mapIn(load, 'kwargs')?.get('metadata');
  if (direct !== undefined) return direct;
  const isKeywords = (arg: SaltMap) => arg.get('__kwarg__') === true && arg.has('metadata');
  return (listOf(load, 'arg') ?? []).filter(isMap).find(isKeywords)?.get('metadata');
}
