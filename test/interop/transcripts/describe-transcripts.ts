import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { differencesOf } from './differences.ts';
import { judgeCases, type Judged } from './judge.ts';
import { Lab } from './lab.ts';
import {
  type RecordedCase,
  recordedCases,
  type RecordedRelease,
  topicOf,
  TOPICS,
} from './recorded-cases.ts';
import { summaryOf, writeReport } from './report.ts';
import { brineTools, stockTools, type Tools } from './tools.ts';

/** Runs only cases that match, for work on a few of them: `^runner/`. */
const ONLY = new RegExp(process.env['BRINE_TRANSCRIPTS_ONLY'] ?? '');

/** Recorded cases, run by these tools in the lab on a Brine master. */
export function describeTranscripts(
  name: Tools['name'],
  among: (recorded: RecordedCase) => boolean = () => true,
): void {
  const release: RecordedRelease = name === 'salt 3006.26' ? '3006.26' : '3008.2';
  const cases = recordedCases(release).filter((one) => among(one) && ONLY.test(one.name));
  const topics = TOPICS.filter((topic) => cases.some((one) => topicOf(one) === topic));
  const listed = differencesOf(name);

  describe(`${name} prints what a stock command of ${release} prints`, () => {
    let lab: Lab;
    let judged: readonly Judged[] = [];

    beforeAll(async () => {
      lab = await Lab.start(release);
      const tools = name === 'brine' ? await brineTools(lab) : stockTools(lab);
      judged = await judgeCases(lab, tools, cases, new Set(listed.keys()));
      process.stdout.write(`${summaryOf(name, judged)}\n`);
      await writeReport(name, judged, listed);
    });
    afterAll(async () => {
      await lab?.close();
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
