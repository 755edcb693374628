import { RefusedRequest } from './problem.ts';

/** The text of a place in a list, for URLs. */
export function cursorOf(place: readonly (string | number | null)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/**
 * The place that a peer gave, or made up: texts and numbers, as many as asked for.
 * @throws RefusedRequest
 */
export function placeOf(
  cursor: string,
  parts: readonly ('string' | 'number')[],
): (string | number)[] {
  const place = parsed(cursor);
  const fits =
    Array.isArray(place) &&
    place.length === parts.length &&
    place.every((value, at) => typeof value === parts[at] && !isBeyondAll(value));
  if (!fits) throw notOfThisList();
  return place as (string | number)[];
}

/** JSON has such numbers: `1e999`. */
function isBeyondAll(value: unknown): boolean {
  return typeof value === 'number' && !Number.isFinite(value);
}

/** The refusal of a cursor. */
export function notOfThisList(): RefusedRequest {
  return new RefusedRequest('bad-request', 'after: is no cursor of this list');
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}
