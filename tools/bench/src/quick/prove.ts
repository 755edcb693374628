import { tsc } from '@brine/testing/checkouts';
import type { BenchArguments } from '../arguments.ts';
import { compareCheckouts } from './compare.ts';
import type { Judgement } from './verdict.ts';
import { drawVerdicts, sayJudgement } from './verdict.ts';

/** Slowdown that `--prove` plants without `--plant`. */
const PLANT_PERCENT = 15;
/** Share of runs that must be right. */
const RIGHT_LEAST = 0.9;

/**
 * `--quick --prove N`: the same checkout on both sides, N times with a plant and N times without,
 * in turn. Prints each run, hits and false alarms; resolves with 1 where too many were wrong.
 */
export async function prove(
  root: string,
  args: BenchArguments,
  say: (line: string) => void,
): Promise<number> {
  await tsc(root);
  const plant = args.plant > 0 ? args.plant : PLANT_PERCENT;
  const same = { dir: root, name: 'this checkout' };
  const planted: Judgement[] = [];
  const plain: Judgement[] = [];
  for (let run = 0; run < args.prove; run += 1) {
    say(`run ${run + 1} of ${args.prove}: with ${plant} %, then without`);
    for (const [judgements, percent] of [
      [planted, plant],
      [plain, 0],
    ] as const) {
      const judgement = await compareCheckouts(same, same, { ...args, plant: percent }, say);
      say(`with ${percent} %: ${sayJudgement(judgement)}`);
      judgements.push(judgement);
    }
  }
  process.stdout.write(`${drawVerdicts(planted, plain, plant)}\n`);
  const hits = planted.filter(({ verdict }) => verdict === 'slower').length;
  const alarms = plain.filter(({ verdict }) => verdict === 'slower').length;
  const right = Math.min(hits, args.prove - alarms) / args.prove;
  process.stdout.write(
    `\n${hits} of ${args.prove} plants of ${plant} % found, ` +
      `${alarms} false alarms in ${args.prove} runs without\n`,
  );
  return right >= RIGHT_LEAST ? 0 : 1;
}
