import { createHash } from 'node:crypto';
import { isMap, MapScan, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { toJson } from '@brine/wire/text';

/** What states came to: ok, changed, failed, would change (`test=True`). */
export type Outcome = 'o' | 'c' | 'f' | 'w';

/** A run of states, read from a return. */
export interface StateRun {
  /** The states in the order of their keys, as `file.managed motd (/etc/motd)`. */
  readonly ids: readonly string[];
  /** An {@link Outcome} for each. */
  readonly outcomes: string;
  /** Milliseconds of each. */
  readonly durations: readonly number[];
}

/** What a return has in common with others. */
export interface ReturnDigests {
  /** Equal for equal returns. 32 hex digits. */
  readonly exact: string;
  /** Equal for runs of states that came to the same, whatever the times and numbers in them. */
  readonly plain: string;
  readonly run: StateRun | undefined;
}

/** States of one run that are read; a longer one is compared as it is. */
const STATES_MAX = 10_000;
/** The longest duration that a column takes, ms. */
const DURATION_MAX = 2_147_483_647;

/** Reads a return as a minion sent it: its bytes, or its value where only that is kept. */
export function digestsOf(load: SaltMap | MapScan): ReturnDigests {
  const given = load.get('return') ?? null;
  const fields = ['retcode', 'success'].map((name) => toJson(load.get(name) ?? null).json);
  const head = `${fields.join(' ')} `;
  // A third of the time of a long run would be its JSON.
  const whole = load instanceof MapScan ? load.raw('return') : undefined;
  const exact = hexOf(head, whole ?? toJson(given).json);
  const states = statesIn(given);
  if (states === undefined) return { exact, plain: exact, run: undefined };
  let text = head;
  let outcomes = '';
  const durations: number[] = [];
  for (const [key, state] of states) {
    const outcome = outcomeOf(state);
    outcomes += outcome;
    durations.push(durationOf(state));
    text += `${key}\0${outcome}\0${withoutNumbers(state.get('comment'))}\0`;
    text += `${withoutNumbers(state.get('changes'))}\n`;
  }
  const ids = states.map(([key]) => nameOf(key));
  return { exact, plain: hexOf(text), run: { ids, outcomes, durations } };
}

/** Names a list of states. */
export function listOfStates(ids: readonly string[]): string {
  return hexOf(ids.join('\0'));
}

/** The states of a return by their keys (salt/state.py); undefined for another return. */
function statesIn(given: SaltValue): [key: string, state: SaltMap][] | undefined {
  if (!isMap(given) || given.size === 0 || given.size > STATES_MAX) return undefined;
  const states: [string, SaltMap][] = [];
  for (const [key, state] of given) {
    if (typeof key !== 'string' || key.split('_|-').length !== 4) return undefined;
    if (!isMap(state) || !state.has('result')) return undefined;
    states.push([key, state]);
  }
  return states.sort(([one], [other]) => (one < other ? -1 : 1));
}

/** `file_|-motd_|-/etc/motd_|-managed` as people read it: `file.managed motd (/etc/motd)`. */
function nameOf(key: string): string {
  const [module = '', id = '', name = '', fun = ''] = key.split('_|-');
  return `${module}.${fun} ${id}${name === id ? '' : ` (${name})`}`;
}

function outcomeOf(state: SaltMap): Outcome {
  const result = state.get('result');
  if (result === false) return 'f';
  if (result === null) return 'w';
  const changes = state.get('changes') ?? null;
  return isMap(changes) && changes.size > 0 ? 'c' : 'o';
}

/** Of a number, or of a text as older minions send it (`12.5 ms`). */
function durationOf(state: SaltMap): number {
  const given = state.get('duration');
  const ms = typeof given === 'number' ? given : Number.parseFloat(textOf(state, 'duration') ?? '');
  return Number.isFinite(ms) ? Math.min(Math.max(Math.round(ms), 0), DURATION_MAX) : 0;
}

function withoutNumbers(value: SaltValue | undefined): string {
  const text = typeof value === 'string' ? value : toJson(value ?? null).json;
  return text.replace(/\d+/g, '#');
}

function hexOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex').slice(0, 32);
}
