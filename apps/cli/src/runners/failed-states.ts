import { intOf, isMap, mapIn, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { isTruthy, pyRepr, pyStr } from '@brine/wire/text';

/** A line that Salt logs for an orchestration, and its level. */
export interface FailureLine {
  readonly level: 'CRITICAL' | 'ERROR';
  readonly text: string;
}

/** Errors of SLS files that Salt logs (salt/state.py render_state). Others are only shown. */
const LOGGED_ERRORS: readonly (readonly [begin: RegExp, level: FailureLine['level']])[] = [
  [/^Rendering SLS .* failed/, 'CRITICAL'],
  [/^(?:Unknown|Ambiguous) include: /, 'CRITICAL'],
  [/^Nonexistent saltenv '.*' found in include /, 'ERROR'],
  [/^Attempted relative include of /, 'ERROR'],
];

/**
 * The log lines of an orchestration's failed states, in the order of the run, or of the errors in
 * place of states. Salt logs them in the process of the command (salt/state.py format_log).
 * @param value what the runner returned
 */
export function failureLines(value: SaltValue): FailureLine[] {
  // `state.orchestrate_single` and similar return the states unwrapped.
  const data = isMap(value) ? (mapIn(value, 'data') ?? value) : undefined;
  return [...(data?.values() ?? [])].flatMap((ran) => {
    if (Array.isArray(ran)) return ran.flatMap(errorLine);
    return isMap(ran) ? stateLines(ran) : [];
  });
}

function errorLine(error: SaltValue): FailureLine[] {
  if (typeof error !== 'string') return [];
  const level = LOGGED_ERRORS.find(([begin]) => begin.test(error))?.[1];
  return level === undefined ? [] : [{ level, text: error }];
}

function stateLines(ran: SaltMap): FailureLine[] {
  return [...ran.values()]
    .filter(isMap)
    .filter((state) => state.has('changes') && state.get('__state_ran__') !== false)
    .sort((one, other) => runNumber(one) - runNumber(other))
    .flatMap((state) => [...innerLines(state), ...ownLine(state)]);
}

function ownLine(state: SaltMap): FailureLine[] {
  return state.get('result') === false ? [{ level: 'ERROR', text: lineOf(state) }] : [];
}

/** The lines of an orchestration inside a step, which precede the line of the step. */
function innerLines(state: SaltMap): FailureLine[] {
  if (!ORCHESTRATIONS.has(textOf(state, 'name') ?? '')) return [];
  return failureLines(mapIn(state, 'changes')?.get('return') ?? null);
}

const ORCHESTRATIONS = new Set(
  ['orchestrate', 'orch', 'sls', 'orchestrate_single', 'orchestrate_high'].map(
    (name) => `state.${name}`,
  ),
);

function runNumber(state: SaltMap): number {
  return intOf(state, '__run_num__') ?? 0;
}

function lineOf(state: SaltMap): string {
  const changes = state.get('changes') ?? null;
  if (!isTruthy(changes)) {
    const comment = state.get('comment') ?? null;
    return isTruthy(comment)
      ? pyStr(comment)
      : `No changes made for ${pyStr(state.get('name') ?? null)}`;
  }
  if (!isMap(changes)) return pyStr(changes);
  const pairs = [...changes];
  if (pairs.every(([, change]) => isMap(change) && change.has('old') && change.has('new'))) {
    const lines = pairs.map(([name, change]) => {
      const [old, now] = ['old', 'new'].map((key) => shown((change as SaltMap).get(key) ?? null));
      return `'${pyStr(name)}' changed from '${old}' to '${now}'\n`;
    });
    return `Made the following changes:\n${lines.join('')}`;
  }
  const diff = textOf(changes, 'diff');
  return diff === undefined ? pyRepr(changes) : `File changed:\n${diff}`;
}

function shown(value: SaltValue): string {
  return isTruthy(value) || value === false || value === null ? pyStr(value) : 'absent';
}
