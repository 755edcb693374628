import { needName } from '../names.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf } from '../value.ts';
import { listOrEmpty, maybe, needTexts, optionalText, otherFields } from './fields.ts';

/*
 * _return (aes) =>
 *   cmd "_return"
 *   id text
 *   jid text                                      also "req" and "nocache"
 *   fun text | list of texts
 *   fun_args list
 *   return any                                    a map by function for a job of several
 *   retcode int | map | list
 *   success bool | map | list
 *   out text, user text, master_id text, metadata map       where they apply
 *   _stamp text                                   of the minion's own bus
 *   nonce, ts, tok, traceparent                   of the channel
 */

/** The outcome of one job on one minion. `rest` has the fields without a name here. */
export interface ReturnLoad {
  readonly id: string;
  readonly jid: string;
  readonly fun: string | string[];
  readonly funArgs: SaltValue[];
  readonly return: SaltValue;
  readonly retcode: SaltValue;
  readonly success: SaltValue;
  readonly out?: string;
  readonly user?: string;
  readonly masterId?: string;
  readonly rest: SaltMap;
}

const FIELDS: ReadonlySet<string> = new Set([
  'cmd',
  'id',
  'jid',
  'fun',
  'fun_args',
  'return',
  'retcode',
  'success',
  'out',
  'user',
  'master_id',
]);

/**
 * Reads a `_return` load. A missing retcode is 0, a missing success true, as for Salt's readers.
 * Throws WireError SALT_WIRE_FIELD.
 */
export function parseReturn(load: SaltMap): ReturnLoad {
  return {
    id: needName(load, 'id', '_return'),
    jid: needName(load, 'jid', '_return'),
    fun: needTexts(load, 'fun', '_return'),
    funArgs: listOrEmpty(load, 'fun_args', '_return'),
    return: load.get('return') ?? null,
    retcode: load.get('retcode') ?? 0,
    success: load.get('success') ?? true,
    rest: otherFields(load, FIELDS),
    ...maybe('out', optionalText(load, 'out', '_return')),
    ...maybe('user', optionalText(load, 'user', '_return')),
    ...maybe('masterId', optionalText(load, 'master_id', '_return')),
  };
}

/** The `_return` load as a minion sends it, without the additions of its channel. */
export function buildReturn(load: ReturnLoad): SaltMap {
  const map = mapOf({
    cmd: '_return',
    id: load.id,
    success: load.success,
    return: load.return,
    retcode: load.retcode,
    jid: load.jid,
    fun: load.fun,
    fun_args: load.funArgs,
    user: load.user,
    out: load.out,
    master_id: load.masterId,
  });
  for (const [key, value] of load.rest) map.set(key, value);
  return map;
}
