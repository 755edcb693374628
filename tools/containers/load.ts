/** One call of the load, as its container printed it. */
export interface Call {
  readonly code: number;
  /** Return of each minion. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** In ms since 1970, when it ended. */
  readonly endedAt: number;
}

const MARK = '#call';

/** The loop of a container: one call after the other, until /tmp/stop exists. */
export const LOAD_LOOP = [
  'until [ -e /tmp/stop ]; do',
  "node apps/cli/bin/brine.mjs salt -t 30 --out=json --static '*' test.ping >/tmp/out 2>/tmp/err",
  'code=$?',
  `echo "${MARK} $code $(date +%s%3N) $(tr -d '\\n' </tmp/out) $(tr '\\n' ' ' </tmp/err)"`,
  'done',
].join('\n');

/**
 * The calls in the output of a load.
 * @throws Error for a line that no loop writes
 */
export function callsIn(output: string): Call[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, code, at, answers = ''] = /^#call (\d+) (\d+) (\{.*?\})? ?(?:.*)$/.exec(line) ?? [];
      if (code === undefined) throw new Error(`not a line of a load: ${line.slice(0, 200)}`);
      return {
        code: Number(code),
        endedAt: Number(at),
        answers: answers === '' ? {} : (JSON.parse(answers) as Record<string, unknown>),
      };
    });
}

/** Calls that did not bring `true` from each minion. */
export function failuresAmong(calls: readonly Call[], minions: readonly string[]): Call[] {
  return calls.filter(
    ({ code, answers }) => code !== 0 || minions.some((minion) => answers[minion] !== true),
  );
}
