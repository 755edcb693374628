import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { FunctionCall } from '../ports/ports.ts';
import { REPEATABLE } from './repeatable.ts';

/** The parts of a call that are in its load. */
export type AskedFunction = Pick<FunctionCall, 'kind' | 'fun' | 'args' | 'kwargs'>;

/**
 * Fields of a wheel's load that are no arguments (salt/client/mixins.py CLIENT_INTERNAL_KEYWORDS).
 */
const NO_ARGUMENTS: ReadonlySet<SaltValue> = new Set([
  'client',
  'cmd',
  'eauth',
  'fun',
  'key',
  'password',
  'print_event',
  'token',
  'user',
  'username',
  'version',
  'full_return',
  REPEATABLE,
]);

/**
 * Reads the load of a `runner` or `wheel` into a call. Rights are judged on this call, and exactly
 * this call runs: no other part of the load is used later.
 *
 * A runner's arguments are in `kwarg`, those of a wheel in the load itself: in `arg` and `kwarg` if
 * both are given, else each field is an argument by its name (salt/client/mixins.py
 * SyncClientMixin.low). If both are given Salt ignores the fields beside them; here that is
 * refused.
 *
 * @returns the call, or Salt's text about its form
 */
export function readCall(kind: FunctionCall['kind'], load: SaltMap): AskedFunction | string {
  const fun = load.get('fun');
  if (typeof fun !== 'string') return `No ${kind} was named`;
  const given = kind === 'wheel' ? withoutNames(load, NO_ARGUMENTS) : load.get('kwarg');
  if (given !== undefined && !isMap(given)) return NO_DICTIONARY;
  const fields = withoutInternal(given ?? mapOf({}));
  const arg = fields.get('arg');
  const kwarg = fields.get('kwarg');
  if (arg === undefined || kwarg === undefined) return callOf(kind, fun, [], fields);
  if (!Array.isArray(arg)) return 'arg must be formatted as a list/tuple';
  if (!isMap(kwarg)) return NO_DICTIONARY;
  if (fields.size > 2) return 'Arguments are given beside arg and kwarg';
  return callOf(kind, fun, arg, withoutInternal(kwarg));
}

const NO_DICTIONARY = 'kwarg must be formatted as a dictionary';

function callOf(
  kind: FunctionCall['kind'],
  fun: string,
  args: readonly SaltValue[],
  kwargs: SaltMap,
): AskedFunction | string {
  const named = [...kwargs.keys()].every((name) => typeof name === 'string');
  return named ? { kind, fun, args, kwargs } : 'keywords must be strings';
}

/** Removes Salt's own names (`__jid__`), which are no arguments. */
export function withoutInternal(fields: SaltMap): SaltMap {
  return new Map(
    [...fields].filter(([name]) => !(typeof name === 'string' && name.startsWith('__'))),
  );
}

function withoutNames(fields: SaltMap, names: ReadonlySet<SaltValue>): SaltMap {
  return new Map([...fields].filter(([name]) => !names.has(name)));
}
