import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf } from '../value.ts';
import { fieldError, maybe, needText, needTexts, optionalMap, optionalText } from './fields.ts';

/*
 * _syndic_return (aes) =>
 *   cmd "_syndic_return"
 *   load list of jobs                             old syndics: the fields of one job, at the top
 * job =>
 *   id text                                       the syndic's
 *   jid text, fun text | list
 *   arg, tgt, tgt_type                            usually nil
 *   load map                                      the lower master's load, once per jid; else {}
 *   return map                                    minion id -> {return, retcode, success, fun_args}
 *   master_id text, out text                      where they apply
 */

/** A syndic's report about one job. */
export interface SyndicJob {
  readonly id: string;
  readonly jid: string;
  readonly fun: string | string[];
  readonly load: SaltMap;
  /** By minion: a map of return, retcode, success, fun_args. */
  readonly returns: ReadonlyMap<string, SaltMap>;
  readonly masterId?: string;
  readonly out?: string;
}

/** Reads a `_syndic_return` load of either form; throws WireError SALT_WIRE_FIELD. */
export function parseSyndicReturn(load: SaltMap): SyndicJob[] {
  const jobs = load.get('load');
  if (!Array.isArray(jobs)) return [parseJob(load)];
  return jobs.map((job) => {
    if (!(job instanceof Map)) throw fieldError('_syndic_return', 'load', 'a list of maps');
    return parseJob(job);
  });
}

function parseJob(job: SaltMap): SyndicJob {
  const byMinion = optionalMap(job, 'return', '_syndic_return');
  if (byMinion === undefined) throw fieldError('_syndic_return', 'return', 'a map');
  const returns = new Map<string, SaltMap>();
  for (const [minion, value] of byMinion) {
    if (typeof minion !== 'string') throw fieldError('_syndic_return', 'return', 'by minion');
    // Only a map can be a return: a syndic puts bookkeeping keys of its own here.
    if (value instanceof Map) returns.set(minion, value);
  }
  return {
    id: needText(job, 'id', '_syndic_return'),
    jid: needText(job, 'jid', '_syndic_return'),
    // Nil if the return named none: its other fields still count.
    fun: (job.get('fun') ?? null) === null ? '' : needTexts(job, 'fun', '_syndic_return'),
    load: optionalMap(job, 'load', '_syndic_return') ?? mapOf({}),
    returns,
    ...maybe('masterId', optionalText(job, 'master_id', '_syndic_return')),
    ...maybe('out', optionalText(job, 'out', '_syndic_return')),
  };
}

/** The `_syndic_return` load of a current syndic. */
export function buildSyndicReturn(id: string, jobs: readonly SyndicJob[]): SaltMap {
  const list: SaltValue[] = jobs.map((job) =>
    mapOf({
      id: job.id,
      jid: job.jid,
      fun: job.fun,
      arg: null,
      tgt: null,
      tgt_type: null,
      load: job.load,
      return: new Map<SaltValue, SaltValue>(job.returns),
      master_id: job.masterId,
      out: job.out,
    }),
  );
  return mapOf({ cmd: '_syndic_return', load: list, id });
}
