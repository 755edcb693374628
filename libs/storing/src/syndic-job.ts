import type { EventPosition } from '@brine/job';
import { isJid, isMinionId } from '@brine/job';
import type { JobRow } from '@brine/job-cache';
import type { SaltMap, SaltValue } from '@brine/wire';
import { intOf, listOf, mapIn, mapOf, pack, storableText, textOf } from '@brine/wire';

/** A CLI asks with it whether a job still runs; such jobs are not listed. */
const FIND_JOB = 'saltutil.find_job';

/** Code points of a text in a column of the job; its load keeps what a syndic sent. */
const TEXT_MAX = 1_000;

/**
 * The row of a job below a syndic, from the syndic's report: `{jid, ids: [minion], syndic, load,
 * deadline: seconds}`. Its minions are those that the master below expects to answer. Throws for a
 * map of another form.
 */
export function syndicJob(
  facts: SaltMap,
  event: Pick<EventPosition, 'timeMs' | 'incarnation' | 'seq'>,
): JobRow & { readonly syndic: string } {
  const jid = textOf(facts, 'jid');
  const syndic = textOf(facts, 'syndic');
  const ids = listOf(facts, 'ids');
  const deadline = intOf(facts, 'deadline');
  if (!isJid(jid) || !isMinionId(syndic))
    throw new Error('a list of minions without job or syndic');
  if (ids === undefined || deadline === undefined) throw new Error('no list of minions');
  const load: SaltMap = new Map(mapIn(facts, 'load') ?? mapOf({})).set('jid', jid);
  const fun = textsOf(load.get('fun'));
  const user = storableText(textOf(load, 'user') ?? '', TEXT_MAX);
  return {
    jid,
    load: pack(load),
    principal: syndic,
    user,
    fun,
    tgt: textsOf(load.get('tgt')),
    tgtType: storableText(textOf(load, 'tgt_type') ?? 'glob', TEXT_MAX),
    minions: ids.filter((id) => isMinionId(id)),
    missing: [],
    publishedAt: event.timeMs,
    deadlineAt: event.timeMs + deadline * 1000,
    hidden: fun.length === 1 && fun[0] === FIND_JOB,
    incarnation: event.incarnation,
    seq: event.seq,
    syndic,
  };
}

function textsOf(value: SaltValue | undefined): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.flatMap((one) => (typeof one === 'string' ? [storableText(one, TEXT_MAX)] : []));
}
