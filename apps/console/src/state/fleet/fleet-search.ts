import { pick } from '../search.ts';

const TEXTS = ['q', 'present', 'silentSince', 'sort', 'columns'] as const;
const LISTS = ['key', 'version', 'os', 'grain'] as const;

type TextName = (typeof TEXTS)[number];
export type ListName = (typeof LISTS)[number];

/** What the address of the fleet has; each filter is a parameter of `/v1/minions`. */
export type FleetSearch = { readonly [name in TextName]?: string } & {
  readonly [name in ListName]?: readonly string[];
};

/** Minions that are wanted, and their order, as `/v1/minions` takes them. */
export type FleetFilter = Omit<FleetSearch, 'columns'>;

/** Takes the parameters of the fleet; a filter may have several values. */
export function readFleetSearch(search: Readonly<Record<string, unknown>>): FleetSearch {
  const lists = LISTS.flatMap((name) => {
    const texts = [search[name]]
      .flat()
      .filter((one): one is string => typeof one === 'string' && one !== '');
    return texts.length === 0 ? [] : [[name, texts] as const];
  });
  return { ...pick(search, TEXTS), ...Object.fromEntries(lists) };
}

/** The search without what is only about how it is drawn. */
export function filterOf({ columns: _, ...filter }: FleetSearch): FleetFilter {
  return filter;
}

/** A value of a facet, chosen or not any more. */
export function toggled(search: FleetSearch, name: ListName, value: string): FleetSearch {
  const { [name]: before = [], ...others } = search;
  const after = before.includes(value) ? before.filter((one) => one !== value) : [...before, value];
  return after.length === 0 ? others : { ...others, [name]: after };
}

/** Another text, or none. */
export function withText(search: FleetSearch, name: TextName, text: string): FleetSearch {
  const { [name]: _, ...others } = search;
  return text === '' ? others : { ...others, [name]: text };
}

/** Rows of a window begin and end at multiples of this: not each scrolled row is another one. */
const STEP = 50;
/** Rows of a window (libs/netapi fleet-window.ts). */
const ROWS_MAX = 500;

/** The topic of the stream that has these rows, and the counts of the fleet. */
export function windowTopic(filter: FleetFilter, first: number, last: number): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filter, facets: 'true' })) {
    for (const one of [value].flat()) params.append(name, one);
  }
  const from = Math.floor(first / STEP) * STEP;
  const to = Math.min(from + ROWS_MAX, (Math.floor(last / STEP) + 1) * STEP) - 1;
  return `minions:${params.toString()}:${from}..${to}`;
}

/** A target that a job can have. */
export interface FleetTarget {
  readonly tgt: string;
  readonly tgtType: 'glob' | 'compound';
}

/** A word of a compound target: more would be read as something else. */
const WORD = /^[^\s()@]+$/;

/**
 * The target with exactly the minions of a filter; undefined where none can be written. That a
 * minion is connected, or was silent, is known to the master alone.
 */
export function targetOf(filter: FleetFilter): FleetTarget | undefined {
  const { q, present, silentSince, key = ['accepted'], os = [], version = [], grain = [] } = filter;
  if (present !== undefined || silentSince !== undefined) return undefined;
  if (!key.includes('accepted')) return undefined;
  const id = q === undefined ? '*' : /[*?]/.test(q) ? q : `*${q}*`;
  const byName = new Map<string, string[]>();
  const pairs = [
    ...os.map((value) => `os:${value}`),
    ...version.map((value) => `saltversion:${value}`),
    ...grain,
  ];
  for (const pair of pairs) {
    const name = pair.slice(0, pair.indexOf(':'));
    byName.set(name, [...(byName.get(name) ?? []), pair]);
  }
  if (byName.size === 0) return { tgt: id, tgtType: 'glob' };
  // A glob would match more than the value.
  if (![id, ...pairs].every((word) => WORD.test(word))) return undefined;
  if (pairs.some((pair) => /[*?[\]\\]/.test(pair))) return undefined;
  const terms = [...byName.values()].map((some) => {
    const words = some.map((pair) => `G@${pair}`);
    return words.length === 1 ? words.join('') : `( ${words.join(' or ')} )`;
  });
  return { tgt: [...(id === '*' ? [] : [id]), ...terms].join(' and '), tgtType: 'compound' };
}
