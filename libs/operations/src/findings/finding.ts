/** What the doctor says of one thing. */
export interface Finding {
  /** `bad`: a hole, or a coming outage; `warn`: a choice that weakens; `ok`: checked. */
  readonly level: 'ok' | 'warn' | 'bad';
  /** Steady name of the check, as `private-files`. */
  readonly check: string;
  /** One line for people, with what to do where there is something to do. */
  readonly text: string;
  /** All minions that it is about; the text names a few. */
  readonly minions?: readonly string[];
}

/** How many names of one kind are listed; the rest is counted. */
const NAMED_MAX = 10;

/** A few of many names, and how many more there are. */
export function some(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
