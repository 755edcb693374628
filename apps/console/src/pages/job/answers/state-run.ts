/** What a state came to. */
export type StateOutcome = 'failed' | 'changed' | 'would' | 'ok';

/** A state of a run, as a minion returned it. */
export interface StateLine {
  readonly key: string;
  /** As `file.managed motd (/etc/motd)`. */
  readonly name: string;
  readonly outcome: StateOutcome;
  readonly comment: string;
  /** JSON of what it changed; empty for nothing. */
  readonly changes: string;
  readonly durationMs: number;
  readonly number: number;
}

/** How each outcome looks: a shape, then a word. */
export const OUTCOME_SIGNS: Readonly<
  Record<StateOutcome, { readonly shape: string; readonly word: string }>
> = {
  failed: { shape: '✖', word: 'failed' },
  changed: { shape: '◆', word: 'changed' },
  would: { shape: '◇', word: 'would change' },
  ok: { shape: '●', word: 'ok' },
};

/** States of one return that are read; more are shown as any other value. */
const STATES_MAX = 10_000;

/** The states of a return in the order in which they ran; undefined for another return. */
export function stateRunOf(given: unknown): readonly StateLine[] | undefined {
  if (!isRecord(given)) return undefined;
  const entries = Object.entries(given);
  if (entries.length === 0 || entries.length > STATES_MAX) return undefined;
  const lines: StateLine[] = [];
  for (const [key, state] of entries) {
    if (key.split('_|-').length !== 4 || !isRecord(state) || !('result' in state)) return undefined;
    lines.push(lineOf(key, state));
  }
  return lines.sort((one, other) => one.number - other.number);
}

/** The states that are not simply ok: failed ones first, else in the order in which they ran. */
export function oddFirst(run: readonly StateLine[]): readonly StateLine[] {
  const odd = run.filter(({ outcome }) => outcome !== 'ok');
  const isFailed = ({ outcome }: StateLine): boolean => outcome === 'failed';
  return [...odd.filter(isFailed), ...odd.filter((line) => !isFailed(line))];
}

/** A state that two runs have otherwise. */
export interface StateDifference {
  readonly name: string;
  readonly here: StateLine | undefined;
  readonly there: StateLine | undefined;
}

/** The states of which two runs differ, whatever their times and numbers. */
export function stateDifferences(
  here: readonly StateLine[],
  there: readonly StateLine[],
): readonly StateDifference[] {
  const others = new Map(there.map((line) => [line.key, line]));
  const differing: StateDifference[] = [];
  for (const line of here) {
    const other = others.get(line.key);
    others.delete(line.key);
    if (other === undefined || !isLike(line, other)) {
      differing.push({ name: line.name, here: line, there: other });
    }
  }
  for (const line of others.values()) {
    differing.push({ name: line.name, here: undefined, there: line });
  }
  return differing;
}

function isLike(one: StateLine, other: StateLine): boolean {
  return (
    one.outcome === other.outcome &&
    withoutNumbers(one.comment) === withoutNumbers(other.comment) &&
    withoutNumbers(one.changes) === withoutNumbers(other.changes)
  );
}

function withoutNumbers(text: string): string {
  return text.replace(/\d+/g, '#');
}

function lineOf(key: string, state: Readonly<Record<string, unknown>>): StateLine {
  const [module = '', id = '', name = '', fun = ''] = key.split('_|-');
  const { comment, changes, duration, __run_num__: number } = state;
  return {
    key,
    name: `${module}.${fun} ${id}${name === id ? '' : ` (${name})`}`,
    outcome: outcomeOf(state),
    comment: Array.isArray(comment) ? comment.map(String).join('\n') : textOf(comment),
    changes: isEmpty(changes) ? '' : JSON.stringify(changes, undefined, 2),
    // Older minions send `12.5 ms`.
    durationMs: Number.parseFloat(textOf(duration)) || 0,
    number: typeof number === 'number' ? number : 0,
  };
}

function outcomeOf({ result, changes }: Readonly<Record<string, unknown>>): StateOutcome {
  if (result === false) return 'failed';
  if (result === null) return 'would';
  return isRecord(changes) && !isEmpty(changes) ? 'changed' : 'ok';
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : '';
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
