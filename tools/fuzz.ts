// Sends broken and invented inputs to all code that reads data of strangers; `--help` lists the
// options. An input that throws an unexpected error, or takes longer than 100 ms, is written to
// test/fixtures/fuzz/<target> and fails the run. Inputs from there are tried first.
import { register } from 'node:module';
import { decimal, drawOptions, flag, MAX_SEED, readOptions, runTool } from '@brine/swarm/options';
import { text, UsageError, whole } from '@brine/swarm/options';

const OPTIONS = {
  minutes: decimal('<n>', 'for all targets together', [0.001, 10_000, 1]),
  target: text('<name>', 'this one alone'),
  seed: whole('<n>', 'of the random numbers', [0, MAX_SEED, 1]),
  guided: flag('inputs that reach new places of our sources are mutated further; slower'),
};
const USAGE = `npm run fuzz -- [options]\n\n${drawOptions(OPTIONS)}`;

await runTool({ name: 'fuzz', usage: USAGE, run: main });

/** Returns the exit code: 1 if a target fails. */
async function main(args: readonly string[]): Promise<number> {
  const { minutes, target: only, seed, guided } = readOptions(args, OPTIONS);
  if (guided) register('./fuzz/instrument.mjs', import.meta.url);
  // Only code that is loaded from here on has counters.
  const [{ TARGETS }, { fuzz }, { Coverage }] = await Promise.all([
    import('./fuzz/targets.ts'),
    import('./fuzz/run.ts'),
    import('./fuzz/coverage.ts'),
  ]);
  const chosen = TARGETS.filter(({ name }) => [undefined, name].includes(only));
  if (chosen.length === 0) {
    throw new UsageError(`targets: ${TARGETS.map(({ name }) => name).join(', ')}`);
  }
  const forMs = (minutes * 60_000) / chosen.length;
  let total = 0;
  let failed = false;
  for (const [index, target] of chosen.entries()) {
    const coverage = guided ? new Coverage() : undefined;
    const result = await fuzz(target, { forMs, seed: seed + index, coverage });
    total += result.inputs;
    failed ||= result.faults.length > 0;
    process.stdout.write(`${[lineOf(result), ...result.faults].join('\n  ')}\n`);
  }
  const verdict = failed ? 'FAULTS' : 'no fault';
  process.stdout.write(`${total.toLocaleString('en')} inputs in ${minutes} min: ${verdict}\n`);
  return failed ? 1 : 0;
}

function lineOf(result: import('./fuzz/run.ts').FuzzResult): string {
  const { target, inputs, slowestMs, growth, guided } = result;
  const reached =
    guided === undefined ? '' : `, ${guided.places} places reached by ${guided.found} inputs`;
  return (
    `${target}: ${inputs} inputs, slowest ${slowestMs.toFixed(1)} ms of CPU, ` +
    `heap ${(growth / 1_048_576).toFixed(1)} MiB more at the end${reached}`
  );
}
