import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { JobRecords } from '@brine/client';
import { type RunnerFunction, timeOf, UNKNOWN_JOB } from '@brine/runners';
import { intOf, mapOf, type SaltMap, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';

/** Maximum lines and characters of a part of an import; a single line may be longer. */
const PART_LINES = 1_000;
const PART_CHARACTERS = 512 * 1024;
/** Maximum bytes of a line: with a head it has to fit into a request of 100 MiB. */
const MAX_LINE_BYTES = 99 * 1024 * 1024;

const exportJobs: RunnerFunction = {
  name: 'jobs.export',
  parameters: [],
  open: 'any',
  doc:
    'Writes jobs with their returns and evidence as lines of JSON, to file=<path> or to the ' +
    'terminal: jobs.export <jid>… or jobs.export --since <time> (since=<time>). The format is ' +
    'described in the README of libs/job-cache.',
  async run({ args, kwargs }, { jobs, out }) {
    const file = textOf(kwargs, 'file');
    const jids = args.map(pyStr);
    const startMs = timeOf(kwargs.get('since'));
    if (kwargs.has('since') && startMs === undefined) throw new Error('since is no time');
    if (startMs !== undefined) jids.push(...(await jobs.list({ startMs })).keys());
    if (args.length === 0 && startMs === undefined) throw new Error('say which: a jid, or --since');
    const lines = exportedLines(jobs, jids);
    if (file === undefined) {
      for await (const line of lines) out(line);
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

/** The lines of a file, each with its end. @throws Error for an unknown jid: no job is left out */
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

const importJobs: RunnerFunction = {
  name: 'jobs.import',
  parameters: [['file']],
  doc:
    'Reads a file of jobs.export into the job cache: jobs.import <path>. The file is checked as ' +
    'a whole first; a damaged one is refused with the line, before anything is written. What is ' +
    'there already stays as it is, so a file may come twice, and an import that was cut off is ' +
    'completed by doing it again.',
  async run({ named }, { jobs }) {
    const path = pyStr(named.get('file') ?? '');
    for await (const _line of checkedLines(path)) continue;
    const { ExchangeReader, exchangeHead } = await import('@brine/job-cache');
    const sums = new Map<string, number>();
    let part: string[] = [];
    let [size, before] = [0, 0];
    const send = async (): Promise<void> => {
      if (part.length === 0) return;
      const lines = [exchangeHead(0), ...part];
      const reader = new ExchangeReader();
      for (const line of lines) reader.read(line);
      // `before`: lines of the file before this part, which has its own head.
      const counts = await jobs.importPart(`${[...lines, reader.tail()].join('\n')}\n`, before);
      for (const name of counts.keys()) {
        if (typeof name !== 'string') continue;
        sums.set(name, (sums.get(name) ?? 0) + (intOf(counts, name) ?? 0));
      }
      before += part.length;
      [part, size] = [[], 0];
    };
    for await (const line of checkedLines(path)) {
      if (part.length >= PART_LINES || size + line.length > PART_CHARACTERS) await send();
      part.push(line);
      size += line.length;
    }
    await send();
    return { value: countsOf(sums) };
  },
};

function countsOf(sums: ReadonlyMap<string, number>): SaltMap {
  const names = ['jobs', 'returns', 'evidence', 'sightings', 'known'];
  return mapOf(Object.fromEntries(names.map((name) => [name, sums.get(name) ?? 0])));
}

/** The rows of a file, unchanged. @throws ExchangeError naming the line */
async function* checkedLines(path: string): AsyncGenerator<string> {
  const { ExchangeError, ExchangeReader, exchangeLines } = await import('@brine/job-cache');
  const reader = new ExchangeReader();
  for await (const line of exchangeLines(createReadStream(path))) {
    if (Buffer.byteLength(line) > MAX_LINE_BYTES) {
      throw new ExchangeError(reader.lines + 1, `more than ${MAX_LINE_BYTES} bytes`);
    }
    if (reader.read(line) !== undefined) yield line;
  }
  reader.finish();
}

/** Functions of the jobs runner that carry jobs from one job cache to another. */
export const EXCHANGE_RUNNER: readonly RunnerFunction[] = [exportJobs, importJobs];
