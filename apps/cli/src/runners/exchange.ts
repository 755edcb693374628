import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { textOf } from '@brine/wire';
import { asText, type RunnerFunction } from './function.ts';
import type { JobRecords } from './job-records.ts';
import { timeOf, UNKNOWN_JOB } from './jobs.ts';

const exportJobs: RunnerFunction = {
  name: 'jobs.export',
  parameters: [],
  open: true,
  doc:
    'Writes jobs with their returns and evidence as lines of JSON, to file=<path> or to the ' +
    'terminal: jobs.export <jid>… or jobs.export --since <time> (since=<time>). The format is ' +
    'described in the README of libs/job-cache.',
  async run({ args, kwargs }, { jobs, terminal }) {
    const file = textOf(kwargs, 'file');
    const jids = args.map(asText);
    const startMs = timeOf(kwargs.get('since'));
    if (kwargs.has('since') && startMs === undefined) throw new Error('since is no time');
    if (startMs !== undefined) jids.push(...(await jobs.list({ startMs })).keys());
    if (args.length === 0 && startMs === undefined) throw new Error('say which: a jid, or --since');
    const lines = exportedLines(jobs, jids);
    if (file === undefined) {
      for await (const line of lines) terminal.out(line);
      return { value: null, outputter: 'quiet' };
    }
    const partial = `${file}.part`;
    try {
      await pipeline(lines, createWriteStream(partial, { mode: 0o600 }));
      await rename(partial, file);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    return { value: `${jids.length} jobs written to ${file}` };
  },
};

/** The lines of a file, each with its end. Throws where a jid is not known: nothing is left out. */
async function* exportedLines(jobs: JobRecords, jids: readonly string[]): AsyncGenerator<string> {
  const { EXCHANGE_KINDS, ExchangeReader, exchangeHead } = await import('@brine/job-cache');
  const reader = new ExchangeReader();
  const checked = (line: string): string => {
    reader.read(line);
    return `${line}\n`;
  };
  yield checked(exchangeHead(Date.now()));
  for (const jid of new Set(jids)) {
    for (const kind of EXCHANGE_KINDS) {
      let after: string | undefined;
      do {
        const page = await jobs.exportPage(jid, kind, after);
        if (kind === 'job' && page.lines.length === 0) throw new Error(`${UNKNOWN_JOB}: ${jid}`);
        for (const line of page.lines) yield checked(line);
        after = page.next;
      } while (after !== undefined);
    }
  }
  yield `${reader.tail()}\n`;
}

/** Functions of the jobs runner that carry jobs from one job cache to another. */
export const EXCHANGE_RUNNER: readonly RunnerFunction[] = [exportJobs];
