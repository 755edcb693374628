// Broken and invented inputs to all that reads what strangers send; `--help` tells the options. An
// input that throws what it should not, or takes longer than 100 ms, is written to
// test/fixtures/fuzz/<target> and fails the run; what lies there is tried first.
import { register } from 'node:module';
import { parseArgs } from 'node:util';

const USAGE = `npm run fuzz -- [options]

  --minutes <n>    for all targets together (1)
  --target <name>  this one alone
  --seed <n>       of the random numbers (1)
  --guided         inputs that reach new places of our sources are mutated further; slower
  --help
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    target: { type: 'string' },
    seed: { type: 'string', default: '1' },
    guided: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);

if (values.help) process.stdout.write(USAGE);
else if (!(minutes > 0) || !Number.isInteger(seed)) {
  process.stderr.write(`--minutes takes a number above 0, --seed a whole one\n${USAGE}`);
  process.exitCode = 64;
} else process.exitCode = await main();

/** The exit code: 1 where a target fails. */
async function main(): Promise<number> {
  if (values.guided) register('./fuzz/instrument.mjs', import.meta.url);
  // Only what is loaded from here on has counters.
  const [{ TARGETS }, { fuzz }, { Coverage }] = await Promise.all([
    import('./fuzz/targets.ts'),
    import('./fuzz/run.ts'),
    import('./fuzz/coverage.ts'),
  ]);
  const chosen = TARGETS.filter(({ name }) => [undefined, name].includes(values.target));
  if (chosen.length === 0) {
    process.stderr.write(`targets: ${TARGETS.map(({ name }) => name).join(', ')}\n`);
    return 64;
  }
  const forMs = (minutes * 60_000) / chosen.length;
  let total = 0;
  let failed = false;
  for (const [index, target] of chosen.entries()) {
    const coverage = values.guided ? new Coverage() : undefined;
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
