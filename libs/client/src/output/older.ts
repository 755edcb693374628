import { isMap, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { compareText, isNumber, pyLength, pyStr } from '@brine/wire/text';
import { colorsOf } from './colors.ts';
import { type OutputContext, UnfitDataError } from './outputter.ts';
import { prepareRows } from './table.ts';

// Outputters of Salt up to 3007, for scripts that still name them.

/** Prints nothing (salt/output/quiet.py); also `progress`, beside its line. */
export function quietOutput(): undefined {
  return undefined;
}

/** The values without their minions, one per line (salt/output/newline_values_only.py). */
export function newlineValuesOutput(data: SaltValue): string {
  if (!isMap(data)) throw new UnfitDataError('AttributeError', 'no values by minion');
  return [...data.values()]
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .map((value) => pyStr(value))
    .join('\n');
}

const NAME_MAX = 60;
const LABELS = ['name', 'mod.fun', 'duration (ms)'];

/** The states of a run with their durations, the shortest first (salt/output/profile.py). */
export function profileOutput(data: SaltValue, context: OutputContext): string {
  if (!isMap(data)) throw new UnfitDataError('TypeError', 'no states by minion');
  const found: { readonly ms: string; readonly name: string; readonly fun: string }[] = [];
  for (const states of data.values()) {
    for (const [id, state] of entriesOf(states)) {
      const parts = pyStr(id).split('_|-');
      const fun = `${parts[0] ?? ''}.${parts.at(-1) ?? ''}`;
      found.push({ ms: durationOf(state).toFixed(4), name: nameOf(state), fun });
    }
  }
  const width = Math.max(LABELS[2]?.length ?? 0, ...found.map(({ ms }) => ms.length));
  const rows = found
    .map(({ ms, ...rest }) => ({ ...rest, ms: ms.padStart(width) }))
    .sort(
      (a, b) => compareText(a.ms, b.ms) || compareText(a.name, b.name) || compareText(a.fun, b.fun),
    );
  // A table without rows has no header either.
  if (rows.length === 0) return '';
  const cells = rows.map(({ name, fun, ms }) => [name, fun, ms]);
  return prepareRows([LABELS, ...cells], 4, colorsOf(context.color), true).join('\n');
}

/** The entries that Python gets by iterating over a value and indexing it with each item. */
function entriesOf(states: SaltValue): [SaltValue, SaltMap][] {
  const none: SaltMap = new Map();
  if (Array.isArray(states)) return states.map((item) => [item, none]);
  if (typeof states === 'string') return [...states].map((letter) => [letter, none]);
  if (!isMap(states)) throw new UnfitDataError('TypeError', 'no states');
  return [...states].map(([id, state]) => [
    id,
    isMap(state) ? state : new Map<SaltValue, SaltValue>([['name', pyStr(id)]]),
  ]);
}

function nameOf(state: SaltMap): string {
  const name = state.get('name') ?? state.get('__id__') ?? '<>';
  if (typeof name !== 'string') throw new UnfitDataError('TypeError', 'a name is no text');
  if (pyLength(name) <= NAME_MAX) return name;
  return `${[...name].slice(0, NAME_MAX - 3).join('')}...`;
}

function durationOf(state: SaltMap): number {
  const value = state.get('duration') ?? -1;
  const ms = value instanceof SaltFloat ? value.value : Number(value);
  if (!(isNumber(value) || typeof value === 'string') || Number.isNaN(ms)) {
    throw new UnfitDataError('TypeError', 'a duration is no number');
  }
  return ms;
}
