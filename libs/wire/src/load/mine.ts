import { checkNames } from '../names.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf } from '../value.ts';
import { fieldError, isTexts, needText, needTexts, optionalMap, optionalText } from './fields.ts';

/*
 * _mine (aes)        => cmd, id, data map by function, clear bool
 * _mine_get (aes)    => cmd, id, tgt text | list, fun text | list, tgt_type text (once expr_form)
 * _mine_delete (aes) => cmd, id, fun text
 * _mine_flush (aes)  => cmd, id
 */

/** Values that a minion puts into the mine. */
export interface MineUpdate {
  readonly id: string;
  readonly data: SaltMap;
  /** True: replaces all earlier values. */
  readonly clear: boolean;
}

/** Reads a `_mine` load; throws WireError SALT_WIRE_FIELD. */
export function parseMine(load: SaltMap): MineUpdate {
  checkNames(load, '_mine');
  const data = optionalMap(load, 'data', '_mine');
  if (data === undefined) throw fieldError('_mine', 'data', 'a map');
  return { id: needText(load, 'id', '_mine'), data, clear: load.get('clear') === true };
}

/** The `_mine` load as a minion sends it. */
export function buildMine(update: MineUpdate): SaltMap {
  return mapOf({ cmd: '_mine', data: update.data, id: update.id, clear: update.clear });
}

/** A question to the mine. */
export interface MineQuery {
  readonly id: string;
  readonly tgt: string | string[];
  readonly tgtType: string;
  /** The requested functions. */
  readonly fun: string[];
  /** True if the answer is a map by function, false if it is directly by minion. */
  readonly byFunction: boolean;
}

/** Reads a `_mine_get` load; throws WireError SALT_WIRE_FIELD. */
export function parseMineGet(load: SaltMap): MineQuery {
  checkNames(load, '_mine_get');
  const asked = needTexts(load, 'fun', '_mine_get');
  // A comma list is several functions; a list of one is still answered by function.
  const fun = typeof asked === 'string' ? asked.split(',').map((name) => name.trim()) : asked;
  return {
    id: needText(load, 'id', '_mine_get'),
    tgt: needTexts(load, 'tgt', '_mine_get'),
    tgtType:
      optionalText(load, 'tgt_type', '_mine_get') ??
      optionalText(load, 'expr_form', '_mine_get') ??
      'glob',
    fun: fun.filter((name) => name !== ''),
    byFunction: Array.isArray(asked) || asked.includes(','),
  };
}

/** A mine value behind an access rule (Salt: salt/utils/mine.py). */
export interface MineEntry {
  readonly value: SaltValue;
  readonly allowTgt?: string | string[];
  readonly allowTgtType?: string;
}

/** Unwraps one stored mine value: bare, or in the form with `__saltmine_acl__`. */
export function parseMineEntry(stored: SaltValue): MineEntry {
  if (!(stored instanceof Map) || !stored.has('__saltmine_acl__') || !stored.has('__data__')) {
    return { value: stored };
  }
  const value = stored.get('__data__') ?? null;
  const allowed = stored.get('allow_tgt');
  const type = stored.get('allow_tgt_type');
  return {
    value,
    ...(typeof allowed === 'string' || isTexts(allowed) ? { allowTgt: allowed } : {}),
    ...(typeof type === 'string' ? { allowTgtType: type } : {}),
  };
}
