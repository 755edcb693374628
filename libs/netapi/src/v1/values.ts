import { timeText } from '@brine/api';
import { type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { toJson } from '@brine/wire/text';
import { cursorOf, placeOf } from './cursor.ts';

/** The name after which a page of a list begins. @throws RefusedRequest for a forged cursor */
export function placeIn(after: string | undefined): string | undefined {
  return after === undefined ? undefined : String(placeOf(after, ['string'])[0]);
}

/** The cursor for the page after this one. */
export function nextOf(page: SaltMap): { readonly next: string | null } {
  const next = textOf(page, 'next');
  return { next: next === undefined ? null : cursorOf([next]) };
}

/** The texts of a list. */
export function texts(list: readonly SaltValue[] | undefined): string[] {
  return (list ?? []).filter((one) => typeof one === 'string');
}

/** A field that is a text, as a field of an answer. */
export function textIn<Name extends string>(
  row: SaltMap,
  name: Name,
): { readonly [One in Name]?: string } {
  const text = textOf(row, name);
  return (text === undefined ? {} : { [name]: text }) as { readonly [One in Name]?: string };
}

/** A field that is a number. */
export function numberIn(row: SaltMap, name: string): number | null {
  const value = row.get(name);
  return typeof value === 'number' ? value : null;
}

/** A time of the store, unix ms. */
export function timeIn(row: SaltMap, name: string): string | null {
  const ms = numberIn(row, name);
  return ms === null ? null : timeText(ms / 1_000);
}

/** A value as JSON has it; what JSON lacks is written as `$bytes` and so on. */
export function plain(value: SaltValue): unknown {
  return JSON.parse(toJson(value).json) as unknown;
}
