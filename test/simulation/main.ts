import { runSeed } from './run.ts';

const USAGE = `npm run simulation -- [first seed, 1] [number of seeds, 500]
BRINE_SIM_SEED=<seed> npm run simulation    that one, with its trace`;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const one = process.env['BRINE_SIM_SEED'];
const asked = process.argv.slice(2);
const [first = 1, count = one === undefined ? 500 : 1] = (one === undefined ? asked : [one]).map(
  Number,
);
if (asked.length > 2 || !Number.isSafeInteger(first) || !Number.isSafeInteger(count) || count < 1) {
  say(USAGE);
  process.exit(asked.includes('--help') ? 0 : 2);
}
const kinds = new Map<string, number>();
let turns = 0;
let current = first;
// A rejection without a handler is a fault of its own.
process.on('unhandledRejection', (error) => {
  say(String(error instanceof Error ? error.stack : error));
  say(`seed ${current} (any): nothing fails unseen: ${String(error)}, 0`);
  process.exit(1);
});
for (let seed = first; seed < first + count; seed += 1) {
  current = seed;
  const outcome = await runSeed(seed);
  turns += outcome.turns;
  kinds.set(outcome.kind, (kinds.get(outcome.kind) ?? 0) + 1);
  if (outcome.broken === undefined && one === undefined) continue;
  say(outcome.trace.join('\n'));
  say(`seed ${seed} (${outcome.kind}): ${outcome.broken?.message ?? 'holds'}, ${outcome.digest}`);
  if (outcome.broken !== undefined) {
    say(`again: BRINE_SIM_SEED=${seed} npm run simulation`);
    process.exit(1);
  }
}
const { user, system } = process.cpuUsage();
const shares = [...kinds].map(([kind, runs]) => `${kind} ${runs}`).join(', ');
say(`${count} seeds hold (${shares})`);
say(`${turns} turns, ${Math.round((user + system) / 1000)} ms of CPU`);
