import type { Job } from '@brine/job';
import { mapOf, pack } from '@brine/wire';
import { buildPublish, buildPublishedJob } from '@brine/wire/load';

/** Time after which a lagging publisher drops it, ms. */
const NOT_AFTER_MS = 10_000;
const DEADLINE_MS = 60_000;
const FIND_JOB = 'saltutil.find_job';
/** User of the question, in logs of minions and in the job cache. */
const ASKER = 'brine';

/** Mark of a question's job id, behind the time; letters and digits of the asker follow. */
const MARK = '_presence';
const TIME_DIGITS = 20;

/** Makes the job id of a question. @param asker unique to a worker: letters and digits */
export function questionJid(time: string, asker: string): string {
  return `${time}${MARK}${asker}`;
}

/** True for the job id of a question. */
export function isQuestionJid(jid: string): boolean {
  return jid.startsWith(MARK, TIME_DIGITS);
}

/** Asker and time of a question. */
export interface Asking {
  readonly jid: string;
  /** Unix ms. */
  readonly now: number;
  readonly masterId: string | undefined;
}

/**
 * Asks whether minions are connected: a `find_job` of its own jid, hidden as those of a CLI. Any
 * return is an answer.
 */
export function presenceQuestion(ids: readonly string[], { jid, now, masterId }: Asking): Job {
  const minions = [...ids];
  const asked = {
    fun: FIND_JOB,
    arg: [jid],
    tgt: minions,
    tgtType: 'list',
    jid,
    ret: '',
    user: ASKER,
  };
  const rest = mapOf(masterId === undefined ? {} : { master_id: masterId });
  return {
    jid,
    minions,
    missing: [],
    hidden: true,
    host: '',
    requestId: `presence:${jid}`,
    fun: FIND_JOB,
    tgt: minions,
    tgtType: 'list',
    user: ASKER,
    principal: 'brine presence',
    publication: pack(buildPublishedJob({ ...asked, rest })),
    load: pack(buildPublish(asked)),
    publishedAt: now,
    deadlineAt: now + DEADLINE_MS,
    notAfter: now + NOT_AFTER_MS,
  };
}
