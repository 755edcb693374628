import { isMap, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { compareText, isNumber, isTruthy, pyStr } from '@brine/wire/text';

/** Part of the names of merged states. */
const COMPRESSED = '_|-state_compressed_';
const CHANGES = 'compressed changes';

/**
 * Merges states with the same id, SLS file and result, for `state_compress_ids`. Data that can not
 * be merged stays as it is (Salt: salt/output/highstate.py _compress_ids).
 */
export function compressStates(hosts: SaltMap): SaltMap {
  const compressed: SaltMap = new Map();
  for (const [host, states] of hosts) {
    const found = isMap(states) ? compressHost(states) : undefined;
    if (found === undefined) return hosts;
    compressed.set(host, found);
  }
  return compressed;
}

/** Number of states in a merged one; 1 for others. */
export function stateCount(name: string): number {
  if (!name.includes(COMPRESSED)) return 1;
  return Number(/\((\d+)\)$/.exec(name.split('_|-')[1] ?? '')?.[1] ?? 1);
}

/** Number of changes in a merged state. */
export function changeCount(state: SaltMap): number {
  const changes = state.get('changes') ?? null;
  const parts = isMap(changes) ? changes.get(CHANGES) : undefined;
  return isMap(parts) ? parts.size || 1 : 1;
}

function compressHost(states: SaltMap): SaltMap | undefined {
  const counts = new Map<string, number>();
  for (const [name, state] of states) {
    const key = keyOf(name, state);
    if (key === undefined) return undefined;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const compressed = new Map<string, SaltMap>();
  for (const [name, state] of states) {
    if (!isMap(state) || typeof name !== 'string') return undefined;
    const count = counts.get(keyOf(name, state) ?? '') ?? 1;
    if (count === 1) {
      compressed.set(name, state);
      continue;
    }
    const joint = jointName(name, state, count);
    const first = compressed.get(joint);
    if (first === undefined) compressed.set(joint, new Map(state));
    else if (!add(first, state)) return undefined;
  }
  return new Map<SaltValue, SaltValue>(compressed);
}

function keyOf(name: SaltValue, state: SaltValue): string | undefined {
  if (typeof name !== 'string' || !isMap(state)) return undefined;
  const parts = ['__id__', '__sls__', 'result'].map((field) => state.get(field));
  const names = name.split('_|-');
  if (names.length < 3 || parts.includes(undefined)) return undefined;
  return [names[0] ?? '', ...parts.map((part) => pyStr(part ?? null))].join('_');
}

function jointName(name: string, state: SaltMap, count: number): string {
  const parts = name.split('_|-');
  const [id, sls, result] = ['__id__', '__sls__', 'result'].map((field) =>
    pyStr(state.get(field) ?? null),
  );
  parts[1] = `${id} (${count})`;
  parts[2] = `state_compressed_${sls}_${id}_${result}`;
  return parts.join('_|-');
}

/** Adds a state to the first of its kind; false if its fields are not those of a state. */
function add(first: SaltMap, state: SaltMap): boolean {
  const [number, more] = [first.get('__run_num__'), state.get('__run_num__')];
  const [spent, further] = [seconds(first.get('duration')), seconds(state.get('duration'))];
  const [start, other] = [first.get('start_time'), state.get('start_time')];
  if (typeof number !== 'number' || typeof more !== 'number') return false;
  if (spent === undefined || further === undefined) return false;
  if (typeof start !== 'string' || typeof other !== 'string') return false;
  first.set('__run_num__', Math.min(number, more));
  const sum = Number((spent + further).toFixed(3));
  first.set('duration', Number.isInteger(sum) ? new SaltFloat(sum) : sum);
  first.set('start_time', compareText(start, other) <= 0 ? start : other);
  addChanges(first, state);
  return true;
}

function seconds(value: SaltValue | undefined): number | undefined {
  if (value instanceof SaltFloat) return value.value;
  return value !== undefined && isNumber(value) ? Number(value) : undefined;
}

function addChanges(first: SaltMap, state: SaltMap): void {
  const changes = state.get('changes');
  if (!isTruthy(changes)) return;
  const before = first.get('changes') ?? null;
  const known = isMap(before) ? before.get(CHANGES) : undefined;
  const parts: SaltMap = new Map<SaltValue, SaltValue>(isMap(known) ? known : []);
  if (parts.size === 0 && isTruthy(before)) parts.set(first.get('name') ?? null, before);
  parts.set(state.get('name') ?? null, changes ?? null);
  first.set('changes', new Map<SaltValue, SaltValue>([[CHANGES, parts]]));
}
