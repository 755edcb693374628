import { writeFile } from 'node:fs/promises';
import type { Difference } from './differences.ts';
import type { Judged } from './judge.ts';
import { topicOf, TOPICS } from './recorded-cases.ts';

/** Names the beginning of a path: the differences of each run go to `<path>-<tools>.md`. */
const REPORT = 'BRINE_TRANSCRIPTS_REPORT';

/** One line per topic: how many cases are equal, and how many exit codes. */
export function summaryOf(name: string, judged: readonly Judged[]): string {
  const lines = TOPICS.flatMap((topic) => {
    const cases = judged.filter(({ recorded }) => topicOf(recorded) === topic);
    return cases.length === 0 ? [] : [lineOf(topic, cases)];
  });
  return [`${name}: cases equal to the recorded ones`, ...lines, lineOf('all', judged)].join('\n');
}

function lineOf(topic: string, cases: readonly Judged[]): string {
  const equal = cases.filter((one) => one.equal).length;
  const exits = cases.filter((one) => one.exitEqual).length;
  const total = cases.length;
  return `  ${topic.padEnd(14)}${equal} of ${total}, exit codes ${exits} of ${total}`;
}

/** Writes every difference with its diff, if the environment asks for it. */
export async function writeReport(
  name: string,
  judged: readonly Judged[],
  listed: ReadonlyMap<string, Difference>,
): Promise<void> {
  const path = process.env[REPORT];
  if (path === undefined) return;
  const parts = judged
    .filter(({ equal }) => !equal)
    .map(({ recorded, diff }) => {
      const why = listed.get(recorded.name)?.why;
      const head = `## ${recorded.name}${why === undefined ? '' : ' (listed)'}`;
      const argv = `\`${recorded.argv.join(' ')}\``;
      return [head, argv, why ?? '', '```diff', diff, '```'].join('\n');
    });
  const summary = ['```', summaryOf(name, judged), '```'].join('\n');
  const text = [`# ${name}`, summary, ...parts].join('\n\n');
  await writeFile(`${path}-${name.replaceAll(/[ .]/g, '-')}.md`, `${text}\n`);
}
