import { newestOf } from '@brine/testing';
import { drawn } from '@brine/testing/circle';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { differencesOf } from './differences.ts';
import { judgeCases, type Judged } from './judge.ts';
import { Lab } from './lab.ts';
import { takeTurn } from './one-lab.ts';
import {
  type RecordedCase,
  recordedCases,
  type RecordedLine,
  topicOf,
  TOPICS,
} from './recorded-cases.ts';
import { summaryOf, writeReport } from './report.ts';
import { brineTools, stockTools, type TestedTools } from './tools.ts';

/** Runs only cases that match, for work on a few of them: `^runner/`. */
const ONLY = new RegExp(process.env['BRINE_TRANSCRIPTS_ONLY'] ?? '');

/** How many cases the circle *change* draws. */
const DRAWN = 30;

/** For all cases, on a machine three times slower than the one that they were written on. */
const LIMIT_MS = 2_400_000;
/** For those of the other files before. */
const TURN_MS = 5_400_000;

/** Recorded cases, run by these tools in the lab on a Brine master. */
export function describeTranscripts(
  name: TestedTools,
  among: (recorded: RecordedCase) => boolean = () => true,
): void {
  const line: RecordedLine = name === 'salt 3006' ? '3006' : '3008';
  const matching = recordedCases(line).filter((one) => among(one) && ONLY.test(one.name));
  const cases = drawn(`cases of ${name}`, matching, DRAWN, (one) => one.name);
  const topics = TOPICS.filter((topic) => cases.some((one) => topicOf(one) === topic));
  const listed = differencesOf(name);

  describe(`${name} prints what a stock command of ${line} prints`, () => {
    let lab: Lab;
    let endTurn: (() => void) | undefined;
    let judged: readonly Judged[] = [];

    beforeAll(async () => {
      endTurn = await takeTurn();
    }, TURN_MS);
    beforeAll(async () => {
      lab = await Lab.start(newestOf(line));
      const tools = await (name === 'brine' ? brineTools(lab) : stockTools(lab));
      judged = await judgeCases(lab, tools, cases, new Set(listed.keys()));
      process.stdout.write(`${summaryOf(name, judged)}\n`);
      await writeReport(name, judged, listed);
    }, LIMIT_MS);
    afterAll(async () => {
      try {
        await lab?.close();
      } finally {
        endTurn?.();
      }
    });

    it.each(topics)('%s: each case is as recorded, or a listed difference', (topic) => {
      const differing = judged
        .filter(({ recorded, equal }) => topicOf(recorded) === topic && !equal)
        .filter(({ recorded }) => !listed.has(recorded.name))
        .map(({ recorded, diff }) => `${recorded.name}\n${diff}`);
      expect(differing.join('\n\n')).toBe('');
    });

    it('each exit code is as recorded, or listed', () => {
      const other = judged
        .filter(({ exitEqual }) => !exitEqual)
        .filter(({ recorded }) => listed.get(recorded.name)?.exits !== true)
        .map(({ recorded }) => recorded.name);
      expect(other).toEqual([]);
    });

    it('each listed difference is there', () => {
      const gone = judged
        .filter(({ recorded, equal }) => equal && listed.has(recorded.name))
        .map(({ recorded }) => recorded.name);
      expect(gone).toEqual([]);
    });
  });
}
