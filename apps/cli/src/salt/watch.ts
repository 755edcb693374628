import { JobRecords, type JobReturn, minionsOf, type PublishedCommand } from '@brine/client';
import { isJid } from '@brine/job';
import { isMap, textOf } from '@brine/wire';
import { EXIT, Exit } from '../exit-codes.ts';
import { whenInterrupted } from './interrupt.ts';
import { failedCode, type SaltRun, showEach } from './run-and-show.ts';

/**
 * `salt --watch JID`: shows the returns of a job so far, then later ones, as `salt` would. Returns
 * the exit code.
 * @throws Exit 64 for an invalid job id, 2 for a job that the cache does not know
 */
export async function watchJob(
  run: Omit<SaltRun, 'command'>,
  jid: string | undefined,
): Promise<number> {
  if (!isJid(jid)) throw new Exit(EXIT.usage, 'salt: error: --watch takes a job id\n');
  const interrupt = whenInterrupted(run.terminal);
  interrupt.jid = jid;
  try {
    // First, so that no return falls between the cache and the events.
    const events = await run.client.listenTo(jid);
    const records = new JobRecords(run.client);
    const load = await records.load(jid);
    if (load === undefined) {
      events.close();
      throw new Exit(EXIT.noReturn, `ERROR: no job ${jid} in the job cache\n`);
    }
    const minions = minionsOf(load);
    const job = { jid, minions, events };
    const { silent, failed } = await showEach(run, job, await allReturns(run, job, records));
    return failedCode(run.terminal, failed || silent.length > 0);
  } finally {
    interrupt.dispose();
  }
}

async function allReturns(
  { client }: Pick<SaltRun, 'client'>,
  job: Required<Omit<PublishedCommand, 'missing'>>,
  records: JobRecords,
): Promise<AsyncIterable<JobReturn>> {
  const known: JobReturn[] = [];
  for (const [id, row] of await records.returns(job.jid)) {
    if (typeof id !== 'string' || !isMap(row)) continue;
    const out = textOf(row, 'out');
    const retcode = row.get('retcode');
    known.push({
      kind: 'return',
      id,
      ret: row.get('return') ?? null,
      ...(out === undefined ? {} : { out }),
      ...(retcode === undefined ? {} : { retcode }),
    });
  }
  const seen = new Set(known.map(({ id }) => id));
  const minions = job.minions.filter((id) => !seen.has(id));
  return oneEach(known, client.returns({ ...job, minions }, { unexpected: true }));
}

/** Removes duplicates: a return may be in the cache and arrive as an event too. */
async function* oneEach(
  known: readonly JobReturn[],
  coming: AsyncIterable<JobReturn>,
): AsyncGenerator<JobReturn> {
  yield* known;
  const seen = new Set(known.map(({ id }) => id));
  for await (const item of coming) {
    if (seen.has(item.id)) continue;
    seen.add(item.id);
    yield item;
  }
}
