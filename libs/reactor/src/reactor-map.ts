import { compileGlob } from '@brine/target';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';

/** Changes to the configured list by `reactor.add` and `reactor.delete`; they outlive restarts. */
export interface ReactorChanges {
  readonly added: readonly { readonly event: string; readonly reactors: readonly string[] }[];
  /** Globs of configured entries that were removed. */
  readonly removed: readonly string[];
}

export const UNCHANGED: ReactorChanges = { added: [], removed: [] };

/** An entry: a glob of tags and the files that react to them. */
interface Entry {
  readonly glob: string;
  readonly files: readonly string[];
  /** Its value in the configuration: a path or a list. */
  readonly value: SaltValue;
  readonly matches: (tag: string) => boolean;
}

/** Limit of entries; each event is compared with all of them. */
export const ENTRIES_MAX = 5_000;
/** Limit of files of one entry. */
const FILES_MAX = 1_000;

/**
 * Maps tags to the files that react to them (Salt: salt/utils/reactor.py Reactor.list_reactors).
 */
export class ReactorMap {
  readonly #entries: readonly Entry[];
  /** Parts of the configuration that are no entries and have no effect, each in a sentence. */
  readonly problems: readonly string[];

  /** @param configured the value of `reactor:`, a list of maps with one glob each */
  constructor(configured: SaltValue, changes: ReactorChanges = UNCHANGED) {
    const problems: string[] = [];
    const removed = new Set(changes.removed);
    const entries = entriesOf(configured, problems).filter(({ glob }) => !removed.has(glob));
    for (const { event, reactors } of changes.added) {
      entries.push(entryOf(event, [...reactors], problems));
    }
    if (entries.length > ENTRIES_MAX) {
      problems.push(`reactor: has ${entries.length} entries; those after ${ENTRIES_MAX} are off`);
      entries.length = ENTRIES_MAX;
    }
    this.#entries = entries;
    this.problems = problems;
  }

  /** The globs of all entries, in their order. */
  get globs(): readonly string[] {
    return this.#entries.map(({ glob }) => glob);
  }

  /** The files that react to a tag, in the order of the list; a file may occur twice. */
  filesFor(tag: string): readonly string[] {
    return this.#entries.flatMap(({ matches, files }) => (matches(tag) ? files : []));
  }

  /** True if any file reacts to a tag. */
  wants(tag: string): boolean {
    return this.#entries.some(({ matches, files }) => files.length > 0 && matches(tag));
  }

  /** The list as `reactor.list` shows it. */
  list(): SaltMap[] {
    return this.#entries.map(({ glob, value }) => new Map([[glob, value]]));
  }
}

/**
 * The changes after `reactor.add`, or Salt's text of a refusal.
 * @param map the list as it is now
 */
export function withAdded(
  changes: ReactorChanges,
  map: ReactorMap,
  event: string,
  reactors: readonly string[],
): ReactorChanges | string {
  if (map.globs.includes(event)) return 'Reactor already exists.';
  if (map.globs.length >= ENTRIES_MAX) return `A list has ${ENTRIES_MAX} entries at most.`;
  return { ...changes, added: [...changes.added, { event, reactors }] };
}

/** The changes after `reactor.delete`, or Salt's text of a refusal. */
export function withRemoved(
  changes: ReactorChanges,
  map: ReactorMap,
  event: string,
): ReactorChanges | string {
  // Salt's text, with its grammar.
  if (!map.globs.includes(event)) return 'Reactor does not exists.';
  const added = changes.added.filter((one) => one.event !== event);
  if (added.length < changes.added.length) return { ...changes, added };
  return { ...changes, removed: [...changes.removed, event] };
}

function entriesOf(configured: SaltValue, problems: string[]): Entry[] {
  if (configured === null) return [];
  if (!Array.isArray(configured)) {
    problems.push('reactor: is no list, so nothing of it reacts');
    return [];
  }
  return configured.flatMap((item, at) => {
    const [only, ...more] = isMap(item) ? item : [];
    if (only === undefined || more.length > 0 || typeof only[0] !== 'string') {
      problems.push(`reactor: item ${at + 1} is no map of one tag, so it reacts to nothing`);
      return [];
    }
    return [entryOf(only[0], only[1], problems)];
  });
}

function entryOf(glob: string, value: SaltValue, problems: string[]): Entry {
  const listed = Array.isArray(value) ? value : typeof value === 'string' ? [value] : undefined;
  if (listed === undefined) problems.push(`reactor: '${glob}' names no files`);
  const files = (listed ?? []).filter((file) => typeof file === 'string').slice(0, FILES_MAX);
  const odd = (listed ?? []).find((file) => typeof file !== 'string');
  if (odd !== undefined) problems.push(`reactor: '${glob}' names ${pyStr(odd)}, which is no path`);
  if ((listed ?? []).length > FILES_MAX) {
    problems.push(`reactor: '${glob}' names more than ${FILES_MAX} files; the others are off`);
  }
  const compiled = compileGlob(glob);
  return { glob, files, value, matches: (tag) => matchesWithin(compiled, tag) };
}

/** A tag that takes too many steps to compare matches nothing. */
function matchesWithin(compiled: (text: string) => boolean, tag: string): boolean {
  try {
    return compiled(tag);
  } catch {
    return false;
  }
}
