import { isMinionId } from '@brine/job';
import { mapOf, pack, type SaltMap, type SaltValue, WireError } from '@brine/wire';
import { parseSyndicReturn, type SyndicJob } from '@brine/wire/load';
import type { MasterPorts, Request } from '../ports/ports.ts';
import { takeReturn } from './return.ts';
import { mayBeSyndic, minionsNamed, reportExpected } from './syndics.ts';

/** Number of returns that are appended together and acknowledged together. */
const AT_ONCE = 256;

/**
 * Takes the returns that a syndic gathered (salt/master.py `AESFuncs._syndic_return`): for each job
 * the minions that its master expected, and each return as if its minion had sent it. A return that
 * arrives by several ways counts once. A load never replaces ours.
 *
 * Rejects if not all of it was stored: the syndic then sends it again.
 */
export async function takeSyndicReturn(
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
  sender: string | undefined,
): Promise<void> {
  let jobs: readonly SyndicJob[];
  try {
    jobs = parseSyndicReturn(load);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    ports.count('syndic_return_malformed');
    return;
  }
  for (const job of jobs) {
    // A version 2 request names its sender only in the jobs.
    const mayReturn =
      job.id === (sender ?? job.id) &&
      ports.keys.cached(job.id)?.state === 'accepted' &&
      mayBeSyndic(ports, job.id);
    if (mayReturn) await takeJob(ports, request, job);
    else ports.count('syndic_return_refused');
  }
}

async function takeJob(ports: MasterPorts, request: Request, job: SyndicJob): Promise<void> {
  await ports.syndics.remember(job.id);
  const expected = minionsNamed(job.load.get('Minions'));
  if (expected !== undefined) {
    const { id: syndic, jid, load } = job;
    await reportExpected(ports, { syndic, jid, minions: expected, load });
  }
  // A return through a syndic has no request of its own with which a trace could begin.
  const untraced: MasterPorts = { ...ports, traceReturn: () => false };
  const returns = [...job.returns];
  for (let at = 0; at < returns.length; at += AT_ONCE) {
    const some = returns.slice(at, at + AT_ONCE);
    await Promise.all(
      some.map(([minion, value]) => takeOne(untraced, request, job, minion, value)),
    );
  }
}

async function takeOne(
  ports: MasterPorts,
  request: Request,
  job: SyndicJob,
  minion: string,
  value: SaltMap,
): Promise<void> {
  if (!isMinionId(minion)) {
    ports.count('return_invalid_id');
    return;
  }
  // Overrides the minion and the job that the return itself claims.
  const returned = new Map<SaltValue, SaltValue>([...value, ['jid', job.jid], ['id', minion]]);
  const of = mapOf({ fun: job.fun, master_id: job.masterId, out: job.out });
  for (const [name, given] of of) returned.set(name, given);
  await takeReturn(ports, request, pack(returned));
  ports.count('syndic_returns');
}
