import { isMap, mapIn, type SaltMap, type SaltValue } from '@brine/wire';
import { isNumber, pyStr } from '@brine/wire/text';
import { compressStates } from './compress-states.ts';
import { formatHost } from './highstate-host.ts';
import { type OutputContext, UnfitDataError } from './outputter.ts';

/** The returns of state runs (Salt: salt/output/highstate.py). */
export function highstateOutput(data: SaltValue, context: OutputContext): string {
  return showStates(data, context, 1);
}

// The level, because changes of an orchestration's states contain state returns of minions.
function showStates(data: SaltValue, context: OutputContext, level: number): string {
  const bare = unwrap(data);
  if (typeof bare === 'string') return bare;
  if (typeof bare === 'boolean' || isNumber(bare)) {
    // Salt passes the number on and fails to strip it: nested shows it.
    throw new UnfitDataError('AttributeError', 'no state data');
  }
  if (bare === null) return 'None';
  if (!isMap(bare)) throw new UnfitDataError('AttributeError', 'no state data');
  const bareHosts = withoutRetcode(bare);
  const hosts = context.state.compressIds ? compressStates(bareHosts) : bareHosts;
  return [...hosts]
    .map(([host, states]) => formatHost(pyStr(host), states, { context, level, showStates }).text)
    .join('\n');
}

/** Extracts the state data from the wrapping of runners and job look-ups. */
function unwrap(data: SaltValue): SaltValue {
  let inner = data;
  if (isMap(inner)) inner = inner.get('return') ?? inner;
  if (isMap(inner)) inner = inner.get('data') ?? inner;
  if (!isMap(inner) || inner.size !== 1) return inner;
  const [only] = inner.values();
  if (only === undefined || !isMap(only) || !only.has('jid') || !only.has('fun')) return inner;
  return mapIn(only, 'return')?.get('data') ?? inner;
}

function withoutRetcode(data: SaltMap): SaltMap {
  const masters = [...data.keys()].filter((key) => pyStr(key).endsWith('_master'));
  if (!data.has('retcode') || masters.length !== 1) return data;
  return new Map([...data].filter(([key]) => key !== 'retcode'));
}
