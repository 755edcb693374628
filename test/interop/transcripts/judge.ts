import { fileURLToPath } from 'node:url';
import { python } from '../stock-tools/stock-tools.ts';
import type { CaseLab } from './case-lab.ts';
import { FIXTURES, type RecordedCase } from './recorded-cases.ts';
import { runCase, type Seen } from './run-case.ts';
import type { Tools } from './tools.ts';
import { inTurns } from './turns.ts';

const COMPARE = fileURLToPath(new URL('./compare.py', import.meta.url));
/** How often a case that differs unexpectedly runs again. */
const AGAIN_TIMES = 2;
/** More differences than this are no accident of a loaded machine. */
const AGAIN_MAX = 80;

/** How a case came out. */
export interface Judged {
  readonly recorded: RecordedCase;
  readonly equal: boolean;
  readonly exitEqual: boolean;
  /** Lines of what was recorded (-) and what came (+); empty if equal. */
  readonly diff: string;
  /** What came, as a recording would have it. */
  readonly seen: Pick<Seen, 'exit' | 'stdout' | 'stderr'> & {
    readonly files: Seen['files'] | null;
  };
}

type Verdict = Omit<Judged, 'recorded'>;

/**
 * Runs these cases and compares. Those that differ unexpectedly run again, alone: beside others a
 * minion may answer too late for a case about timeouts.
 * @param expected the names of cases that will differ
 */
export async function judgeCases(
  lab: CaseLab,
  tools: Tools,
  cases: readonly RecordedCase[],
  expected: ReadonlySet<string>,
): Promise<readonly Judged[]> {
  const seen = new Map<RecordedCase, Seen>();
  await inTurns(lab, cases, async (recorded) => {
    seen.set(recorded, await runOrTell(lab, tools, recorded));
  });
  let judged = await compare(lab, tools, seen);
  for (let time = 1; time <= AGAIN_TIMES; time++) {
    const again = judged.filter(({ recorded, equal }) => !equal && !expected.has(recorded.name));
    if (again.length === 0 || again.length > AGAIN_MAX) break;
    process.stdout.write(`${tools.name}: ${again.length} cases run again, alone\n`);
    const seenAlone = new Map<RecordedCase, Seen>();
    for (const { recorded } of again) {
      await lab.nothingRuns();
      seenAlone.set(recorded, await runOrTell(lab, tools, recorded));
    }
    const better = await compare(lab, tools, seenAlone);
    const newest = new Map(better.map((one) => [one.recorded, one] as const));
    judged = judged.map((one) => newest.get(one.recorded) ?? one);
  }
  return judged;
}

/** A step that fails is a difference of its case, not the end of all. */
async function runOrTell(lab: CaseLab, tools: Tools, recorded: RecordedCase): Promise<Seen> {
  try {
    return await runCase(lab, tools, recorded);
  } catch (error) {
    const files = Object.keys(recorded.files ?? {}).map((name) => [name, ''] as const);
    const stderr = `a step of this case failed: ${String(error)}`;
    return { exit: -1, stdout: '', stderr, files: Object.fromEntries(files), replaced: [] };
  }
}

async function compare(
  lab: CaseLab,
  tools: Tools,
  seen: ReadonlyMap<RecordedCase, Seen>,
): Promise<readonly Judged[]> {
  const cases = [...seen].map(([recorded, one]) => ({ recorded, seen: one }));
  const given = { fixtures: FIXTURES, ours: tools.name === 'brine', cases };
  const env = { PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await python(lab.venv, [COMPARE], JSON.stringify(given), env);
  const verdicts = JSON.parse(stdout) as readonly Verdict[];
  return cases.map(({ recorded }, at) => ({ recorded, ...(verdicts[at] as Verdict) }));
}
