import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One run: its files, the processes that end with it, and its stop signal. */
export interface Run {
  /** The log of the simulated minions. */
  readonly log: string;
  readonly print: (line: string) => void;
  /** Aborted to end the run early, in order. */
  readonly signal: AbortSignal;
  /** Writes a JSON file beside the log. */
  readonly save: (name: string, value: object) => Promise<void>;
  /** Adds an end function; the last runs first. With `keep` files stay; it returns their path. */
  readonly onEnd: (end: (keep: boolean) => Promise<unknown>) => void;
}

/**
 * Runs `work`. Files stay if it fails, or with `keep`. The first signal stops it in order, the
 * second at once.
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

/** Ends everything, also after an error; returns the paths that stay. Throws the first error. */
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
