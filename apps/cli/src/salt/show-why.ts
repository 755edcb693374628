import { setTimeout as sleep } from 'node:timers/promises';
import { JobRecords, type LocalClient } from '@brine/client';
import type { Printer } from '../printer.ts';
import type { Terminal } from '../terminal.ts';

/** Number of ids in one query: a page of answers. */
const IDS_OF_QUESTION = 500;
/** Answers to find_job are stored in batches of 20 ms, and storing takes a few ms more. */
const SETTLE_MS = 250;

/**
 * `--why`: the cause of each minion's silence, below Salt's own texts. With `--out` it goes to
 * stderr, so that scripts find the expected stdout.
 */
export async function showWhy(
  {
    client,
    terminal,
    printer,
  }: { readonly client: LocalClient; readonly terminal: Terminal; readonly printer: Printer },
  jid: string,
  silent: readonly string[],
): Promise<void> {
  if (silent.length === 0) return;
  const write = (text: string): void =>
    printer.options.output === undefined ? terminal.out(text) : terminal.err(text);
  await sleep(SETTLE_MS);
  const jobs = new JobRecords(client);
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
