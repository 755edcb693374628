import type { DurableTask, JobCache } from '@brine/job-cache';
import type { SaltMap, SaltValue } from '@brine/wire';
import { intOf, mapIn, mapOf, textOf } from '@brine/wire';

type Query = (cache: JobCache, request: SaltMap) => Promise<SaltValue>;

/** The queries about durable jobs: the next action of publishers, and the list of open jobs. */
export const DURABLE_QUERIES: readonly (readonly [string, Query])[] = [
  ['durable_take', take],
  ['durable_confirm', confirm],
  ['durable', list],
  ['durable_open', async (cache) => mapOf({ ...(await cache.durable.countOpen()) })],
];

async function take(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  const received = new Map<string, number>();
  for (const [id, at] of mapIn(request, 'heard') ?? []) {
    if (typeof id === 'string' && typeof at === 'number') received.set(id, at);
  }
  const probe = textOf(request, 'probe');
  if (!probe) throw new Error('durable_take needs the jid of a question');
  const { task, open } = await cache.durable.take(received, probe);
  return mapOf({ task: task === undefined ? null : taskMap(task), open });
}

async function confirm(cache: JobCache, request: SaltMap): Promise<SaltValue> {
  await cache.durable.confirm({
    jid: textOf(request, 'jid') ?? '',
    requestId: textOf(request, 'requestId') ?? '',
    turn: intOf(request, 'turn') ?? -1,
    look: intOf(request, 'look') ?? -1,
  });
  return true;
}

async function list(cache: JobCache): Promise<SaltValue> {
  const open = await cache.durable.list();
  return open.map((job) => mapOf({ ...job, fun: [...job.fun] }));
}

function taskMap({ action, publication, ...task }: DurableTask): SaltMap {
  const { kind, minions } = action;
  return mapOf({ ...task, kind, minions: [...minions], publication: Buffer.from(publication) });
}
