import { intOf, isMap, mapIn, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { isTruthy, pyRepr, pyStr } from '@brine/wire/text';

/**
 * The log lines of the states of an orchestration that failed, in the order of the run. Salt logs
 * them in the process of the command (salt/state.py format_log).
 * @param value what the runner returned
 */
export function failedStateLines(value: SaltValue): string[] {
  const data = isMap(value) ? mapIn(value, 'data') : undefined;
  const states = [...(data?.values() ?? [])].flatMap((ran) =>
    isMap(ran) ? [...ran.values()].filter(isMap) : [],
  );
  return states
    .filter((state) => state.get('result') === false && state.get('__state_ran__') !== false)
    .filter((state) => state.has('changes'))
    .sort((one, other) => runNumber(one) - runNumber(other))
    .map(lineOf);
}

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
