import { writeFile } from 'node:fs/promises';

/** What a run tells on its way, and how it is stopped. */
export interface Surroundings {
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A kind of run, with a command line of its own. */
export interface Mode<Asked extends { readonly json: string | undefined }, Report> {
  readonly usage: string;
  readonly read: (args: readonly string[]) => Asked;
  readonly run: (asked: Asked & Surroundings) => Promise<Report>;
  readonly draw: (report: Report) => string;
}

/** For a run: lines go to the terminal, the first signal ends it in order, the second at once. */
export function terminalSurroundings(): Surroundings {
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  return { tell: (line) => void process.stdout.write(`${line}\n`), signal: stopping.signal };
}

/** Writes the whole report where `--json` asked for it. */
export async function writeReport(file: string | undefined, report: object): Promise<void> {
  if (file !== undefined) await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
}

/** Runs what was asked for, prints its report, gives the exit code. Throws UsageError. */
export async function runMode<
  Asked extends { readonly json: string | undefined },
  Report extends { readonly ok: boolean },
>(mode: Mode<Asked, Report>, args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(mode.usage);
    return 0;
  }
  const asked = mode.read(args);
  const report = await mode.run({ ...asked, ...terminalSurroundings() });
  process.stdout.write(mode.draw(report));
  await writeReport(asked.json, report);
  return report.ok ? 0 : 1;
}
