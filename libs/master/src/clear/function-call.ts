import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { FunctionCall } from '../ports/ports.ts';

/** What of a call its load says. */
export type AskedFunction = Pick<FunctionCall, 'kind' | 'fun' | 'args' | 'kwargs'>;

/** What in a wheel's load is no argument (salt/client/mixins.py CLIENT_INTERNAL_KEYWORDS). */
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
]);

/**
 * Reads the load of a `runner` or `wheel` into the call that runs. Rights are judged on what comes
 * out here, and it is what runs: nothing else of the load is looked at later.
 *
 * A runner's arguments stand in `kwarg`, those of a wheel in the load itself. There `arg` and
 * `kwarg` hold them where both are given; else each field is an argument by its name
 * (salt/client/mixins.py SyncClientMixin.low). Where both are given Salt runs without the fields
 * beside them; here that is refused.
 *
 * @returns the call, or in Salt's words what is wrong with its form
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

/** Without names of Salt's own (`__jid__`), which are no arguments. */
export function withoutInternal(fields: SaltMap): SaltMap {
  return new Map(
    [...fields].filter(([name]) => !(typeof name === 'string' && name.startsWith('__'))),
  );
}

function withoutNames(fields: SaltMap, names: ReadonlySet<SaltValue>): SaltMap {
  return new Map([...fields].filter(([name]) => !names.has(name)));
}
