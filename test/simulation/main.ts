import { runSeed } from './run.ts';

// npm run simulation -- [first seed] [seeds]
const first = Number(process.env['BRINE_SIM_SEED'] ?? process.argv[2] ?? 1);
const count = process.env['BRINE_SIM_SEED'] === undefined ? Number(process.argv[3] ?? 500) : 1;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
let costMs = 0;
let turns = 0;
for (let seed = first; seed < first + count; seed += 1) {
  const outcome = await runSeed(seed);
  costMs += outcome.costMs;
  turns += outcome.turns;
  if (outcome.broken !== undefined || count === 1) {
    say(outcome.trace.join('\n'));
    say(`seed ${seed}: ${outcome.broken?.message ?? 'holds'} (${outcome.digest})`);
    if (outcome.broken !== undefined) {
      say(`BRINE_SIM_SEED=${seed} npm run simulation`);
      process.exit(1);
    }
  }
}
const { user, system } = process.cpuUsage();
const cpuMs = Math.round((user + system) / 1000);
say(`${count} seeds hold; ${Math.round(costMs)} ms, ${cpuMs} ms of CPU, ${turns} turns`);
