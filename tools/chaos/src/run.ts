import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One run: its files, the processes that end with it, and how it is stopped. */
export interface Run {
  /** The log of the simulated minions. */
  readonly log: string;
  readonly print: (line: string) => void;
  /** The run ends early, in order, once this is aborted. */
  readonly signal: AbortSignal;
  /** Writes a JSON file beside the log. */
  readonly save: (name: string, value: object) => Promise<void>;
  /** Ends this with the run, the last first; with `keep` its files stay, and it gives the path. */
  readonly onEnd: (end: (keep: boolean) => Promise<unknown>) => void;
}

/**
 * Does a run. Its files stay where it fails, and where `keep` is set. The first signal stops it in
 * order, the second at once.
 */
export async function inRun<R extends { readonly ok: boolean }>(
  keep: boolean,
  work: (run: Run) => Promise<R>,
): Promise<R> {
  const dir = await mkdtemp(join(tmpdir(), 'brine-chaos-'));
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const ends: ((keep: boolean) => Promise<unknown>)[] = [];
  const run: Run = {
    log: join(dir, 'ledger.jsonl'),
    print: (line) => void process.stdout.write(`${line}\n`),
    signal: stopping.signal,
    save: (name, value) => writeFile(join(dir, name), `${JSON.stringify(value, null, 2)}\n`),
    onEnd: (end) => void ends.push(end),
  };
  let isKept = true;
  try {
    const report = await work(run);
    isKept = keep || !report.ok;
    await run.save('report.json', report);
    return report;
  } finally {
    const kept = [dir, ...(await endAll(ends, isKept))];
    if (isKept) run.print(`kept: ${kept.join(', ')}`);
    else await rm(dir, { recursive: true });
  }
}

/** Ends all, also where one fails; gives the paths that stay. Throws the first error. */
async function endAll(
  ends: readonly ((keep: boolean) => Promise<unknown>)[],
  keep: boolean,
): Promise<readonly string[]> {
  const kept: string[] = [];
  const errors: unknown[] = [];
  for (const end of ends.toReversed()) {
    const path = await end(keep).catch((error: unknown) => void errors.push(error));
    if (typeof path === 'string') kept.push(path);
  }
  if (errors.length > 0) throw errors[0];
  return kept;
}
