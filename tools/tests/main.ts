// `npm test`: runs layers or a circle of tests, runs files of real peers that failed once more,
// alone, and sums up. The last line is `N passed, N failed`, with `, N skipped` where there are
// any. With CI=true a skipped test is a failure: no person watches to notice it. There a run also
// ends itself before CI would.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool, UsageError } from '@brine/swarm/options';
import { NIGHTLY } from './circles.ts';
import { type Asked, readAsked, USAGE } from './command-line.ts';
import { readFlakyList } from './flaky-list.ts';
import { type Layer, layerOf } from './layers.ts';
import { endLeftProcesses } from './left-processes.ts';
import { changeSince, headCommit, ROOT, workingTree } from './repository.ts';
import { chosenByName, chosenByReach, type Selection } from './selection.ts';
import { costsOf, countsOf, failuresFor, flakyFor, wholeFailures } from './summary.ts';
import { failuresOf, filesToRunAgain, type Ran, type Verdict, verdictOf } from './verdict.ts';
import { runVitest, type VitestJob } from './vitest-run.ts';

/** CI ends a run after 90 min and keeps nothing of it; this leaves time for the start. In ms. */
const CI_DEADLINE_MS = 84 * 60_000;
/** Concurrent files per core that wait for peers; with two, master starts fill two cores. */
const WAITING_PER_CORE = 1.5;
const IS_CI = process.env['CI'] === 'true';

async function main(args: readonly string[]): Promise<number> {
  const asked = readAsked(args);
  const startedAt = performance.now();
  const selection = select(asked);
  const chosen = [...selection.files.values()].flat();
  if (chosen.length === 0) throw new UsageError(emptyBecause(asked));
  if (selection.words.length > 0) console.log(selection.words.join('\n'));
  const dir = mkdtempSync(join(tmpdir(), 'brine-tests-'));
  const end = endOfRun();
  const settings = { dir, env: envOf(asked) };
  const ran = await runAll(selection.files, settings, end);
  const again = await runAgain(filesToRunAgain(failuresOf(ran)), settings, end);
  if (end.aborted) await endLeftProcesses(dir);
  const verdict = verdictOf(ran, again, readFlakyList(), Date.now());
  const programs = asked.circle === 'nightly' ? runPrograms(end) : [];
  const files = ran.ends.flatMap((one) => one.files);
  console.log(`\n${costsOf(files, performance.now() - startedAt)}`);
  return sumUp({ ...verdict, red: [...verdict.red, ...programs] }, dir);
}

function select(asked: Asked): Selection {
  const { layers, circle, only, reached, base } = asked;
  const tree = workingTree();
  if (!reached && circle !== 'change') return chosenByName(tree, layers, only);
  const whole = reached ? [] : layers.filter((layer) => layer !== 'deep');
  return chosenByReach(tree, changeSince(base), { layers, whole });
}

function emptyBecause({ only, reached }: Asked): string {
  if (reached) return 'the change reaches no test';
  return `no test's path has ${only.join(' or ')} in it`;
}

/** Read by test/layers/scenes-of-failures.ts and by @brine/testing/circle. */
function envOf({ keep, circle }: Asked): Readonly<Record<string, string>> {
  const sample = headCommit().slice(0, 8);
  if (circle === 'change') console.log(`of files that draw cases a sample: BRINE_SAMPLE=${sample}`);
  return {
    ...(keep ? { BRINE_KEEP_FAILED: '1' } : {}),
    ...(circle === undefined ? {} : { BRINE_CIRCLE: circle, BRINE_SAMPLE: sample }),
  };
}

/** Aborted, with the reason, if this run has to end early. */
function endOfRun(): AbortSignal {
  const end = new AbortController();
  // Any number of signals: a kill of the tree reaches each process, and npm forwards its own.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => end.abort(`the run was ended by ${signal}`));
  if (IS_CI) {
    const minutes = CI_DEADLINE_MS / 60_000;
    const late = (): void => end.abort(`the run was ended after ${minutes} min`);
    setTimeout(late, CI_DEADLINE_MS).unref();
  }
  return end.signal;
}

type Settings = Pick<VitestJob, 'dir' | 'env'>;

/** Runs tests that wait for real peers, and computing ones in the remaining time. */
async function runAll(
  chosen: ReadonlyMap<Layer, readonly string[]>,
  settings: Settings,
  end: AbortSignal,
): Promise<Ran> {
  const cores = availableParallelism();
  const only = (isChosen: (layer: Layer) => boolean): VitestJob['files'] =>
    new Map([...chosen].filter(([layer]) => isChosen(layer)));
  const waits = only((layer) => layer !== 'pure');
  const ends = await Promise.all([
    runVitest(
      {
        ...settings,
        name: 'waits',
        files: waits,
        isBehind: false,
        workers: Math.ceil(cores * WAITING_PER_CORE),
      },
      end,
    ),
    runVitest(
      {
        ...settings,
        name: 'computes',
        files: only((layer) => layer === 'pure'),
        isBehind: [...waits.values()].some(({ length }) => length > 0),
        workers: cores,
      },
      end,
    ),
  ]);
  return { chosen, ends, endedEarly: end.aborted ? String(end.reason) : undefined };
}

/** Runs each file once more, alone. */
async function runAgain(
  files: readonly string[],
  settings: Settings,
  end: AbortSignal,
): Promise<ReadonlyMap<string, Ran>> {
  const again = new Map<string, Ran>();
  for (const [at, file] of files.entries()) {
    if (end.aborted) break;
    console.log(`\n== once more, alone: ${file}`);
    const chosen = new Map([[layerOf(file) ?? 'pure', [file]]]);
    const job = {
      ...settings,
      name: `again-${at + 1}`,
      files: chosen,
      workers: 1,
      isBehind: false,
    };
    const ends = [await runVitest(job, end)];
    again.set(file, { chosen, ends, endedEarly: end.aborted ? String(end.reason) : undefined });
  }
  return again;
}

/** Runs the programs of the nightly circle; returns a text for each that failed. */
function runPrograms(end: AbortSignal): readonly string[] {
  const failed: string[] = [];
  for (const words of NIGHTLY) {
    if (end.aborted) return [...failed, `npm run ${words.join(' ')}: not run`];
    console.log(`\n== npm run ${words.join(' ')}`);
    const { status, signal } = spawnSync('npm', ['run', ...words], { cwd: ROOT, stdio: 'inherit' });
    if (status !== 0) failed.push(`npm run ${words.join(' ')} ended with ${signal ?? status}`);
  }
  return failed;
}

function sumUp(verdict: Verdict, dir: string): number {
  const { failed, flaky, red, skipped } = verdict;
  if (flaky.length > 0) console.log(`\n${flakyFor(flaky)}`);
  if (failed.length > 0) {
    writeFileSync(join(dir, 'failures.txt'), wholeFailures(failed));
    console.log(`\n${failuresFor(failed, dir)}`);
  }
  for (const words of red) console.log(`\nFAILED ${words}`);
  const isStrict = IS_CI && skipped > 0;
  if (isStrict) console.log(`\n${skipped} skipped: with CI=true that is a failure`);
  console.log(`\n${countsOf(verdict)}`);
  const isGreen = failed.length === 0 && red.length === 0;
  if (isGreen && flaky.length === 0) rmSync(dir, { recursive: true });
  return isGreen && !isStrict ? 0 : 1;
}

await runTool({ name: 'npm test', usage: USAGE, run: main });
