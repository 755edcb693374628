import type { SaltMap, SaltValue } from '@brine/wire';
import { isMap, unpackMap } from '@brine/wire';
import { fromJson } from '@brine/wire/text';

/** A load as the database has it: its bytes, or only JSON where somebody else wrote the row. */
export interface LoadColumns {
  readonly raw: Buffer | null;
  readonly json: string | null;
}

/** The load of a row: from its exact bytes, else from its JSON. */
export function readLoad(columns: LoadColumns): SaltMap {
  if (columns.raw !== null) return unpackMap(columns.raw);
  const value = fromJson(JSON.parse(columns.json ?? '{}'));
  return isMap(value) ? value : new Map<SaltValue, SaltValue>();
}
