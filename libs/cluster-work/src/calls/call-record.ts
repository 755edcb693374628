import type { FunctionCall } from '@brine/master';
import { boolOf, listOf, mapIn, mapOf, pack, type SaltMap, textOf } from '@brine/wire';

/** Larger arguments have a record of their own. */
const ARGUMENTS_MAX_BYTES = 64 * 1024;

/** A call as it is stored: what began a run, and its arguments if they are large. */
export interface KeptCall {
  readonly call: SaltMap;
  readonly input?: SaltMap;
}

/** Writes a call. */
export function keepCall(call: FunctionCall): KeptCall {
  const { kind, fun, jid, user, principal, caller, via, depth, timeoutSeconds, traceparent } = call;
  const who = mapOf({
    kind,
    fun,
    jid,
    user,
    principal,
    caller,
    via,
    depth,
    timeoutSeconds,
    traceparent,
  });
  const given = mapOf({ args: [...call.args], kwargs: call.kwargs });
  if (pack(given).length > ARGUMENTS_MAX_BYTES) return { call: who, input: given };
  return { call: new Map([...who, ...given]) };
}

/**
 * Reads {@link keepCall}; undefined for another map.
 * @param jid of the run
 * @param input of the run; large arguments are in it
 */
export function keptCallOf(kept: SaltMap, jid: string, input?: SaltMap): FunctionCall | undefined {
  const fun = textOf(kept, 'fun');
  if (fun === undefined) return undefined;
  const given = kept.has('args') ? kept : (input ?? kept);
  const seconds = kept.get('timeoutSeconds');
  // Earlier releases store only `limited`; an empty caller may do nothing more.
  const caller =
    mapIn(kept, 'caller') ?? (boolOf(kept, 'limited') === true ? mapOf({}) : undefined);
  const via = textOf(kept, 'via');
  const depth = kept.get('depth');
  const traceparent = textOf(kept, 'traceparent');
  return {
    kind: textOf(kept, 'kind') === 'wheel' ? 'wheel' : 'runner',
    fun,
    jid: textOf(kept, 'jid') ?? jid,
    user: textOf(kept, 'user') ?? '',
    principal: textOf(kept, 'principal') ?? '',
    ...(caller === undefined ? {} : { caller }),
    ...(via === undefined ? {} : { via }),
    ...(typeof depth === 'number' ? { depth } : {}),
    ...(typeof seconds === 'number' ? { timeoutSeconds: seconds } : {}),
    ...(traceparent === undefined ? {} : { traceparent }),
    args: listOf(given, 'args') ?? [],
    kwargs: mapIn(given, 'kwargs') ?? mapOf({}),
  };
}
