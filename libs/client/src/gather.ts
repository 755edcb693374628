import type { EventQueue } from './event-inbox.ts';
import type { JobReturn } from './load.ts';
import type { Command } from './load.ts';
import type { PublishedCommand } from './load.ts';
import type { GatherSettings } from './wait.ts';
import { Wait } from './wait.ts';

type Publish = (command: Command, into: EventQueue) => Promise<PublishedCommand | undefined>;

/**
 * Waits for the returns of a job. When the time is up, the minions that still owe one are asked
 * by `saltutil.find_job` whether they run it; as long as one does, the wait goes on
 * (Salt: salt/client/__init__.py get_iter_returns).
 * @throws RefusedError where the master tells of an error in the job's events.
 */
export async function* gatherReturns(
  job: PublishedCommand,
  publish: Publish,
  settings: GatherSettings,
  log: { readonly logError: (text: string) => void },
): AsyncGenerator<JobReturn> {
  const { events } = job;
  if (events === undefined) throw new Error('the job was published without listening');
  try {
    yield* gather(job, events, publish, settings, log);
  } finally {
    events.close();
  }
}

async function* gather(
  job: PublishedCommand,
  events: EventQueue,
  publish: Publish,
  settings: GatherSettings,
  log: { readonly logError: (text: string) => void },
): AsyncGenerator<JobReturn> {
  const wait = new Wait(job, settings);
  for (;;) {
    if (wait.isComplete(Date.now())) break;
    const event = await events.next(wait.deadline(Date.now()));
    if (event !== undefined) {
      yield* wait.take(event, log.logError);
      continue;
    }
    if (wait.isOver(Date.now())) break;
    if (wait.mustAsk(Date.now())) {
      const command = wait.findJobCommand();
      wait.asked(command === undefined ? undefined : await askQuietly(publish, command, events));
    }
  }
  const { unasked } = wait;
  if (unasked === 1) log.logError('1 minion returned that was not asked');
  if (unasked > 1) log.logError(`${unasked} minions returned that were not asked`);
  for (const id of wait.never()) yield { kind: 'missing', id };
}

/** A find_job that cannot be sent counts as unanswered: the wait must come to its end. */
async function askQuietly(
  publish: Publish,
  command: Command,
  events: EventQueue,
): Promise<string | undefined> {
  try {
    return (await publish(command, events))?.jid;
  } catch {
    // Whatever it was, the missing minions are about to be reported as such.
    return undefined;
  }
}

/** The text of a minion that did not return (Salt: get_cli_event_returns). */
export function noResponseText(jid: string): string {
  return (
    'Minion did not return. [No response]\n' +
    'The minions may not have all finished running and any remaining minions will return upon ' +
    'completion. To look up the return data for this job later, run the following command:\n\n' +
    `salt-run jobs.lookup_jid ${jid}`
  );
}
