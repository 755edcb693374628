import type { Again } from '@brine/bus/jobs';
import type { Job } from '@brine/job';
import { mapOf, pack, unpackMap } from '@brine/wire';
import { buildPublish, buildPublishedJob } from '@brine/wire/load';
import type { DurableTask } from './durable-ports.ts';
import { listedFor } from './listed.ts';

// A question or a repetition that was not sent within this says nothing of now any more.
const NOT_AFTER_MS = 15_000;
/** Salt: `timeout` of a minion's find_job is the client's gather_job_timeout, 10 s. */
const QUESTION_DEADLINE_MS = 60_000;
const FIND_JOB = 'saltutil.find_job';
/** Named as the user of the questions, in logs of minions and in the job cache. */
const ASKER = 'brine';

/** The question whether minions run a job, as a job of its own: hidden, as those of a CLI. */
export function questionOf(task: DurableTask, ids: readonly string[], now: number): Job {
  const { jid, probe, turn } = task;
  const minions = [...ids];
  const requestId = `ask:${task.requestId}:${turn}:${minions[0] ?? ''}`;
  const asked = {
    fun: FIND_JOB,
    arg: [jid],
    tgt: minions,
    tgtType: 'list',
    jid: probe,
    ret: '',
    user: ASKER,
  };
  const masterId = unpackMap(task.publication).get('master_id');
  const rest = mapOf(masterId === undefined ? {} : { master_id: masterId });
  return {
    ...{ jid: probe, minions, missing: [], hidden: true, host: '', requestId, piece: requestId },
    ...{ fun: FIND_JOB, tgt: minions, tgtType: 'list', user: ASKER, principal: 'brine durable' },
    publication: pack(buildPublishedJob({ ...asked, rest })),
    load: pack(buildPublish(asked)),
    publishedAt: now,
    deadlineAt: now + QUESTION_DEADLINE_MS,
    notAfter: Math.min(now + NOT_AFTER_MS, task.notAfter),
  };
}

/** The job once more, for these minions alone. */
export function repetitionOf(task: DurableTask, ids: readonly string[], now: number): Again {
  const minions = [...ids];
  return {
    jid: task.jid,
    seq: task.seq,
    notAfter: Math.min(now + NOT_AFTER_MS, task.notAfter),
    only: { minions, publication: listedFor(task.publication, minions) },
  };
}
