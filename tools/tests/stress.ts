// `npm run test:flaky`: runs test files several times beside two busy loops, to find flaky ones;
// maintains the list of known flaky files.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { drawOptions, flag, readArguments, runTool, text } from '@brine/swarm/options';
import { UsageError, whole } from '@brine/swarm/options';
import { readFlakyList, writeFlakyList } from './flaky-list.ts';
import { layerOf } from './layers.ts';
import { changeSince, ROOT, workingTree } from './repository.ts';

const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const BUSY_LOOPS = 2;
const OPTIONS = {
  changed: flag('those that this branch added or changed since main'),
  base: text('REV', 'with --changed: another commit or branch to compare with', 'main'),
  times: whole('N', 'how often each runs', [1, 1_000, 5]),
  note: text('FILE', 'do not run; note FILE as flaky in test/layers/flaky.json, with the date'),
  mended: text('FILE', 'do not run; take FILE out of that list'),
};
const USAGE = `npm run test:flaky -- [NAME ...] [options]: files whose path has a NAME in it

${drawOptions(OPTIONS)}`;

async function main(args: readonly string[]): Promise<number> {
  const { asked, words: names } = readArguments(args, OPTIONS);
  const { changed, base, times, note, mended } = asked;
  if (note !== undefined || mended !== undefined) return keepList(note, mended);
  if (names.length === 0 && !changed) throw new UsageError('a NAME or --changed is needed');
  const files = workingTree().paths.filter((path) => layerOf(path) !== undefined);
  const since = changed ? new Set(changeSince(base).paths) : new Set<string>();
  const chosen = files.filter(
    (path) => since.has(path) || names.some((name) => path.includes(name)),
  );
  if (chosen.length === 0) console.log('no test file is meant');
  const failed: string[] = [];
  const loops = Array.from({ length: BUSY_LOOPS }, busyLoop);
  const endLoops = (): void => loops.forEach((loop) => loop.kill('SIGKILL'));
  process.once('exit', endLoops);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  for (const file of chosen) {
    const passed = await passesOf(file, times);
    console.log(`${file}: ${passed} of ${times} passed`);
    if (passed < times) failed.push(file);
  }
  // This process can not end while they run.
  endLoops();
  console.log(`\n${chosen.length - failed.length} of ${chosen.length} files passed each time`);
  return failed.length === 0 ? 0 : 1;
}

function keepList(note: string | undefined, mended: string | undefined): number {
  const list = { ...readFlakyList() };
  if (note !== undefined) {
    if (layerOf(note) === undefined || !existsSync(join(ROOT, note)))
      throw new UsageError(`${note} is no test file`);
    // A file that is added again keeps its first date, from which a week counts.
    list[note] ??= new Date().toISOString().slice(0, 10);
  }
  if (mended !== undefined) {
    if (list[mended] === undefined) throw new UsageError(`${mended} is not in the list`);
    delete list[mended];
  }
  writeFlakyList(list);
  return 0;
}

function busyLoop(): ChildProcess {
  return spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
}

async function passesOf(file: string, count: number): Promise<number> {
  let passed = 0;
  for (let round = 1; round <= count; round += 1) {
    const startedAt = performance.now();
    const { code, output } = await run(file);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (code === 0) passed += 1;
    else console.log(output);
    console.log(`${file} ${round}: ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s`);
  }
  return passed;
}

function run(file: string): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const args = [VITEST, 'run', '--project', layerOf(file) ?? 'pure', file];
    const child = spawn(process.execPath, args, { cwd: ROOT });
    let output = '';
    const take = (data: string): void => void (output += data);
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

await runTool({ name: 'test:flaky', usage: USAGE, run: main });
