import type { EventKind, Job } from '@brine/job';
import { isJid, jobNewTag, jobPublishTag } from '@brine/job';
import { isMap, pack, type SaltValue, unpack } from '@brine/wire';
import { buildNewJob } from '@brine/wire/load';

/** An event of a job, made of its message in PUBLICATIONS. */
export interface JobEvent {
  readonly kind: EventKind;
  readonly tag: string;
  readonly jid: string;
  readonly body: () => Uint8Array;
}

/**
 * The events that a job's own message stands for, in the order in which readers get them: `new`,
 * then `publish`. Empty for a job with an invalid id.
 */
export function eventsOfJob(job: Job): readonly JobEvent[] {
  const { jid } = job;
  if (!isJid(jid)) return [];
  return [
    { kind: 'job', tag: jobNewTag(jid), jid, body: () => pack(newJob(job)) },
    { kind: 'job', tag: jobPublishTag(jid), jid, body: () => job.publication },
  ];
}

function newJob(job: Job): ReturnType<typeof buildNewJob> {
  const load: SaltValue = unpack(job.load);
  return buildNewJob({ ...job, arg: (isMap(load) ? load.get('arg') : undefined) ?? [] });
}
