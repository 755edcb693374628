/** Something that the palette finds. */
export interface Found {
  readonly id: string;
  readonly group: 'Pages' | 'On this page' | 'Acts' | 'Jobs' | 'Minions' | 'Functions';
  /** As one reads it. */
  readonly label: string;
  readonly description?: string;
  /** Where it leads; undefined for an act. */
  readonly path?: string;
  readonly search?: Readonly<Record<string, string | readonly string[]>>;
}

/** The jid of Salt: a time of 20 digits. */
const JID = /^\d{20}$/;

/** A job, if one typed its number. */
export function jobOf(word: string): readonly Found[] {
  if (!JID.test(word)) return [];
  return [{ id: `job ${word}`, group: 'Jobs', label: `Job ${word}`, path: `/jobs/${word}` }];
}

/**
 * Those that have all words that were typed, all of them for nothing. Names that begin so go before
 * names that have it, then names that have its words, then those with words elsewhere.
 */
export function matching(found: readonly Found[], word: string): readonly Found[] {
  const typed = word.toLowerCase();
  const parts = typed.split(/\s+/).filter(Boolean);
  const rank = ({ label }: Found): number => {
    const name = label.toLowerCase();
    if (name === typed) return 0;
    if (name.startsWith(typed)) return 1;
    if (name.includes(typed)) return 2;
    return parts.every((part) => name.includes(part)) ? 3 : 4;
  };
  return found
    .filter(({ label, description = '' }) => {
      const text = `${label} ${description}`.toLowerCase();
      return parts.every((part) => text.includes(part));
    })
    .sort((a, b) => rank(a) - rank(b));
}

/** What the API searches for; undefined for what it would find all of, or refuses. */
export function searched(text: string): string | undefined {
  const word = text.trim();
  return word === '' || word.length > WORD_MAX || JID.test(word) ? undefined : word;
}

/** As `q` of `/v1/minions` and `/v1/functions`, characters. */
const WORD_MAX = 255;

/** Joins what was found by its kind, without empty kinds. */
export function grouped<Item extends Pick<Found, 'group'>>(
  found: readonly Item[],
): { group: Found['group']; actions: Item[] }[] {
  const groups = new Map<Found['group'], Item[]>();
  for (const one of found) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  return [...groups].map(([group, actions]) => ({ group, actions }));
}
