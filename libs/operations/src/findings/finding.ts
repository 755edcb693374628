/** One result of a check. */
export interface Finding {
  /** `bad`: a hole, or a coming outage; `warn`: a choice that weakens; `ok`: checked. */
  readonly level: 'ok' | 'warn' | 'bad';
  /** Stable name of the check, as `private-files`. */
  readonly check: string;
  /** One line for people, with the remedy if there is one. */
  readonly text: string;
  /** All minions concerned; the text names a few. */
  readonly minions?: readonly string[];
}

/** Number of names to list; the rest is counted. */
const NAMED_MAX = 10;

/** Joins the first names, and the number of the others. */
export function some(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
