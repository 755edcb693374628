import type { SaltValue } from '@brine/wire';
import { isMap, textOf } from '@brine/wire';

/** Separates the labels of a number in brine.counters. */
export const SEPARATOR = '\x1f';

/** The label of all further values once a label has its maximum of values. */
export const OTHER = 'other';

/** Distinct values of a label. They bound the series of a metric. */
const MAX_FUNCTIONS = 200;
const MAX_STATES = 300;
/** Minions choose the functions of unpublished returns, so these get a part of the limit only. */
const MAX_FUNCTIONS_OF_MINIONS = 150;
/** Longest label; a longer text counts as `other`. */
const MAX_LABEL_CHARS = 120;
const ODD = /[\u0000-\u001f\u007f\ud800-\udfff]/;

/** Positions of the labels in a text of brine.counters, by metric. */
const PLACES: Readonly<Record<string, { function?: number; state?: number; minion?: number }>> = {
  jobs: { function: 0, state: 1 },
  returns: { function: 0, state: 1 },
  scheduled: { function: 0, state: 1 },
  responses: { minion: 0 },
};

/** Label values of one process, bounded. */
export class CountLabels {
  readonly #functions = new Set<string>();
  readonly #states = new Set<string>(['', 'highstate']);
  readonly #minions = new Set<string>();
  readonly #maxMinions: number;
  readonly #onFolded: () => void;
  #folded: boolean;

  /** `maxMinions`: further minions have no label of their own; with 0 no minion has one. */
  constructor(maxMinions: number, onFolded: () => void = () => undefined) {
    this.#maxMinions = maxMinions;
    this.#onFolded = onFolded;
    this.#folded = maxMinions === 0;
  }

  /** Takes over what was counted before, so that restarts do not make the sets larger. */
  learn(metric: string, labels: string): void {
    const values = labels.split(SEPARATOR);
    const place = PLACES[metric];
    const at = (index: number | undefined): string | undefined =>
      index === undefined ? undefined : values[index];
    const [name, state, minion] = [at(place?.function), at(place?.state), at(place?.minion)];
    if (name !== undefined && name !== OTHER) this.#functions.add(name);
    if (state !== undefined && state !== OTHER) this.#states.add(state);
    if (minion !== undefined && minion !== OTHER) this.minion(minion);
  }

  /** The label of a function; `published`: an operator's choice, not a minion's. */
  fun(name: string, published: boolean): string {
    const max = published ? MAX_FUNCTIONS : MAX_FUNCTIONS_OF_MINIONS;
    return bounded(this.#functions, name, max);
  }

  /** The label of a state, from the function and its arguments. */
  state(fun: string, args: readonly SaltValue[] | undefined): string {
    const state = stateOf(fun, args);
    return state === '' ? '' : bounded(this.#states, state, MAX_STATES);
  }

  /** The label of a minion; `other` once there are too many. */
  minion(id: string): string {
    if (this.#folded) return OTHER;
    if (this.#minions.has(id)) return id;
    if (ODD.test(id) || id.length > MAX_LABEL_CHARS * 2) return 'odd';
    this.#minions.add(id);
    if (this.#minions.size <= this.#maxMinions) return id;
    this.#folded = true;
    this.#minions.clear();
    this.#onFolded();
    return OTHER;
  }
}

function bounded(known: Set<string>, text: string, max: number): string {
  if (known.has(text)) return text;
  if (known.size >= max || text.length > MAX_LABEL_CHARS || ODD.test(text)) return OTHER;
  known.add(text);
  return text;
}

/**
 * The state that a job runs, by the rule of salt-exporter (pkg/event/event.go ExtractState): the
 * first argument or its `mods` (`fun` for state.single), `highstate`, or nothing.
 */
function stateOf(fun: string, args: readonly SaltValue[] | undefined): string {
  if (!fun.startsWith('state.')) return '';
  const first = args?.[0];
  switch (fun) {
    case 'state.sls':
    case 'state.apply':
      if (first !== undefined) return argument(first, 'mods');
      return fun === 'state.apply' ? 'highstate' : '';
    case 'state.single':
      return first === undefined ? '' : argument(first, 'fun');
    case 'state.highstate':
      return 'highstate';
    default:
      return '';
  }
}

function argument(first: SaltValue, key: string): string {
  if (typeof first === 'string') return first;
  return isMap(first) ? (textOf(first, key) ?? '') : '';
}
