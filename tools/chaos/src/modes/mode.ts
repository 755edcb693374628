import { writeFile } from 'node:fs/promises';
import { drawOptions, flag, type Given, type Option, readOptions } from '@brine/swarm/options';
import { text } from '@brine/swarm/options';
import { inRun, type Run } from '../run.ts';

/** A kind of run, with its own command line. */
export interface Mode {
  readonly usage: string;
  /** Returns the exit code; throws UsageError for invalid arguments. */
  readonly run: (args: readonly string[]) => Promise<number>;
}

/** Options of every mode. */
const EVERY = {
  json: text('<file>', 'the whole report'),
  keep: flag('keep the directory also where nothing failed'),
};

type Table = Readonly<Record<string, Option<unknown>>>;

/** The steps of a mode between its command line and its exit code. */
interface Steps<T extends Table, Report> {
  /** The head of the usage text. */
  readonly about: string;
  readonly options: T;
  /** The exit code of a run that is refused before it begins. */
  readonly refuse?: (asked: Given<T>) => number | undefined;
  readonly run: (asked: Given<T>, run: Run) => Promise<Report>;
  readonly draw: (report: Report) => string;
}

/** A mode that prints its report, and writes it to the file of `--json`. */
export function modeOf<T extends Table, Report extends { readonly ok: boolean }>({
  about,
  options,
  refuse,
  run,
  draw,
}: Steps<T, Report>): Mode {
  const table = { ...options, ...EVERY };
  return {
    usage: `${about}\n\n${drawOptions(table)}`,
    run: async (args) => {
      const asked: Given<T> & Given<typeof EVERY> = readOptions(args, table);
      const refused = refuse?.(asked);
      if (refused !== undefined) return refused;
      const report = await inRun(asked.keep, (one) => run(asked, one));
      process.stdout.write(draw(report));
      if (asked.json !== undefined) {
        await writeFile(asked.json, `${JSON.stringify(report, null, 2)}\n`);
      }
      return report.ok ? 0 : 1;
    },
  };
}
