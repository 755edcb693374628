import { runSeed } from './run.ts';

// npm run simulation -- [first seed] [number of seeds]; BRINE_SIM_SEED: that one, with its trace.
const one = process.env['BRINE_SIM_SEED'];
const first = Number(one ?? process.argv[2] ?? 1);
const count = one === undefined ? Number(process.argv[3] ?? 500) : 1;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const kinds = new Map<string, number>();
let turns = 0;
let current = first;
// What nobody waited for is a fault of its own.
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
