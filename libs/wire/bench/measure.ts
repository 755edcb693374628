const ROUNDS = 5;
const ROUND_MS = 150;
/** The calls between two reads of the clock last about this long, in ms. */
const LOOK_MS = 0.2;

/** Prints the time of one call, in µs, the best of five rounds; for the benches of libraries. */
export function measure(name: string, run: () => unknown): void {
  const calls = callsPerLook(run);
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    let made = 0;
    while (performance.now() - start < ROUND_MS) {
      for (let index = 0; index < calls; index += 1) run();
      made += calls;
    }
    best = Math.min(best, ((performance.now() - start) * 1000) / made);
  }
  process.stdout.write(`${best.toFixed(2).padStart(10)} µs  ${name}\n`);
}

/** Reading the clock costs as much as a small call; large calls are measured one at a time. */
function callsPerLook(run: () => unknown): number {
  run();
  const start = performance.now();
  run();
  const once = Math.max(performance.now() - start, 1e-4);
  return Math.max(1, Math.min(100, Math.round(LOOK_MS / once)));
}
