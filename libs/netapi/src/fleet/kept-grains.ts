import { LISTED_GRAINS } from '@brine/api/fleet';
import { type MapScan, scanMap } from '@brine/wire';

/** A number as msgpack has it. */
const NUMBER_BYTES = 9;

/** The last time that has a date, unix ms. */
const TIME_MAX = 8.64e15;

/** The kept grains of a record of `brine_minions`, '' for none, and when they were stored. */
export function keptGrains(
  value: Uint8Array,
): { readonly texts: readonly string[]; readonly at: number } | undefined {
  if (value.length === 0) return undefined;
  const record = scanMap(value);
  const packed = record.raw('grains');
  if (packed === undefined) return undefined;
  const grains = scanMap(packed);
  const updatedMs = record.value('updated_at');
  return {
    texts: LISTED_GRAINS.map((name) => textOf(grains, name)),
    at:
      typeof updatedMs === 'number' && updatedMs > 0 && updatedMs < TIME_MAX ? updatedMs / 1e3 : 0,
  };
}

/** A text or a number; any other value of a minion is none, and is not read. */
function textOf(grains: MapScan, name: string): string {
  const text = grains.text(name);
  if (text !== undefined) return text;
  if ((grains.raw(name)?.length ?? 0) > NUMBER_BYTES) return '';
  const value = grains.value(name);
  return typeof value === 'number' ? String(value) : '';
}
