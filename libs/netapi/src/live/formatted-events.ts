import { strictJson } from '@brine/client';
import { parseTag } from '@brine/job';
import { isMap, listOf, mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';
import type { WriteFrame } from './frames.ts';

/** Jobs that are remembered until they are complete. */
const JOBS_MAX = 1_000;

/**
 * Events in the form of `/ws?format_events`: `{"jobs": …}` and `{"minions": …}` (Salt:
 * salt/netapi/rest_cherrypy/event_processor.py SaltInfo). Each message has the job or the minions
 * that changed; Salt repeats all that it knows with every event.
 */
export function formattedEvents(): WriteFrame {
  const jobs = new Map<string, SaltMap>();
  return ({ tag, data }) => {
    const parsed = parseTag(tag);
    if (parsed.kind === 'job-new') return jobsFrame(parsed.jid, begun(jobs, parsed.jid, data));
    if (parsed.kind === 'job-return') {
      const { jid, id } = parsed;
      const job = returned(jobs, jid, id, data);
      const grains = textOf(data, 'fun') === 'grains.items' ? data.get('return') : undefined;
      return (
        jobsFrame(jid, job) + (grains === undefined ? '' : minionsFrame([mapOf({ grains, id })]))
      );
    }
    if (parsed.kind === 'key') {
      const id = textOf(data, 'id');
      return id === undefined ? '' : minionsFrame([mapOf({ id, act: data.get('act') })]);
    }
    if (parsed.kind !== 'presence') return '';
    const ids = listOf(data, 'present') ?? listOf(data, 'new') ?? [];
    return minionsFrame(ids.map((id) => mapOf({ id })));
  };
}

function begun(jobs: Map<string, SaltMap>, jid: string, data: SaltMap): SaltMap {
  const minions: SaltMap = new Map(
    (listOf(data, 'minions') ?? []).map((id) => [id, mapOf({ success: false })]),
  );
  const job = mapOf({
    jid,
    start_time: data.get('_stamp'),
    minions,
    fun: data.get('fun'),
    tgt: data.get('tgt'),
    tgt_type: data.get('tgt_type'),
    state: 'running',
  });
  jobs.set(jid, job);
  if (jobs.size > JOBS_MAX) {
    const [oldest] = jobs.keys();
    jobs.delete(oldest ?? '');
  }
  return job;
}

/** The job with the one return, and its state. */
function returned(jobs: Map<string, SaltMap>, jid: string, id: string, data: SaltMap): SaltMap {
  const job = jobs.get(jid) ?? mapOf({ minions: mapOf({}) });
  const minions = mapIn(job, 'minions') ?? mapOf({});
  const minion = mapOf({
    return: data.get('return'),
    retcode: data.get('retcode'),
    success: data.get('success'),
  });
  minions.set(id, mapOf({ success: data.get('success') }));
  const isComplete = [...minions.values()].every(
    (one) => isMap(one) && one.get('success') === true,
  );
  if (isComplete) {
    job.set('state', 'complete');
    jobs.delete(jid);
  }
  return new Map([...job, ['minions', new Map([[id, minion]])]]);
}

function jobsFrame(jid: string, job: SaltMap): string {
  return frame(mapOf({ jobs: new Map([[jid, job]]) }));
}

function minionsFrame(minions: SaltMap[]): string {
  return frame(mapOf({ minions }));
}

/** A value that JSON can not have is left out with its event, as in Salt. */
function frame(value: SaltMap): string {
  const text = strictJson(value);
  return text === undefined ? '' : `${text}\n\n`;
}
