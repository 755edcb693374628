import { type ChildProcess, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import type { Layer } from './layers.ts';
import { RUN_VARIABLE } from './left-processes.ts';
import { type Outcome, readOutcome } from './outcome.ts';
import { ROOT } from './repository.ts';

const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const REPORTERS = [
  '--reporter=default',
  `--reporter=${join(ROOT, 'tools', 'tests', 'reporter.ts')}`,
  `--reporter=${join(ROOT, 'test', 'layers', 'unended-tests.mjs')}`,
];

/** Test files for one vitest. */
export interface VitestJob {
  readonly files: ReadonlyMap<Layer, readonly string[]>;
  /** Number of files that run at once. */
  readonly workers: number;
  /** True if it only uses idle cores, and its output is shown after its end. */
  readonly isBehind: boolean;
  /** Directory for the reporter, and for reports on masters. */
  readonly dir: string;
  readonly name: string;
  /** Added to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The outcome of one vitest. */
export interface VitestEnd extends Outcome {
  /** Its exit code, or the signal that ended it. */
  readonly code: number | string;
}

/** Runs test files; ends early if `end` is aborted. @throws Error if vitest does not start */
export async function runVitest(job: VitestJob, end: AbortSignal): Promise<VitestEnd> {
  const outcome = join(job.dir, `${job.name}.jsonl`);
  const layers = [...job.files].filter(([, files]) => files.length > 0);
  if (layers.length === 0) return { code: 0, files: [], strays: [] };
  const projects = layers.flatMap(([layer]) => ['--project', layer]);
  const env = {
    ...process.env,
    ...job.env,
    BRINE_TEST_OUTCOME: outcome,
    [RUN_VARIABLE]: job.dir,
    BRINE_TEST_WORKERS: String(job.workers),
  };
  const args = [VITEST, 'run', ...projects, ...REPORTERS, ...layers.flatMap(([, files]) => files)];
  const code = await exitOf({ args, env, isBehind: job.isBehind }, end);
  return { code, ...readOutcome(outcome) };
}

interface Command extends Pick<VitestJob, 'isBehind'> {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

function exitOf({ args, env, isBehind }: Command, end: AbortSignal): Promise<number | string> {
  return new Promise((resolve, reject) => {
    const output = isBehind ? 'pipe' : 'inherit';
    // A separate process group: Ctrl-C reaches only this process, which ends it in order.
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env,
      stdio: ['ignore', output, output],
      detached: true,
    });
    const { pid } = child;
    const printed = outputOf(child);
    if (isBehind && pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
    const stop = (): void => void child.kill('SIGTERM');
    end.addEventListener('abort', stop);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      end.removeEventListener('abort', stop);
      process.stdout.write(Buffer.concat(printed));
      resolve(signal ?? code ?? 1);
    });
  });
}

/** The output of the process so far, unless it writes to this terminal. */
function outputOf({ stdout, stderr }: ChildProcess): readonly Buffer[] {
  const output: Buffer[] = [];
  for (const stream of [stdout, stderr]) stream?.on('data', (part: Buffer) => output.push(part));
  return output;
}
