import { JobRecords } from '@brine/client';
import type { SaltRun } from './salt-run.ts';

/** Ids of one question: a page of answers. */
const IDS_OF_QUESTION = 500;
/** The store of an answer to find_job lingers 20 ms for others, and takes a few itself. */
const SETTLE_MS = 250;

/**
 * `--why`: below Salt's own texts, the cause of each minion's silence. With another outputter it
 * goes to stderr, so that what scripts read stays what it was.
 */
export async function showWhy(
  { link, terminal, printer }: SaltRun,
  jid: string,
  silent: readonly string[],
): Promise<void> {
  if (silent.length === 0) return;
  const write = (text: string): void =>
    printer.options.output === undefined ? terminal.out(text) : terminal.err(text);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const jobs = new JobRecords(link.client);
  write('\nWhy:\n');
  for (let from = 0; from < silent.length; from += IDS_OF_QUESTION) {
    const ids = silent.slice(from, from + IDS_OF_QUESTION);
    const found = await jobs.why(jid, ids);
    for (const id of ids) {
      const text = found?.get(id)?.text ?? 'unknown, because the job is not in the job cache yet';
      write(`    ${id}: ${text}\n`);
    }
  }
}
