import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';

/** A query of an SQL pillar, with its rules (Salt: salt/pillar/sql_base.py). */
export interface SqlQuery {
  /** Key of its rows in the pillar; null: at the top. */
  readonly root: string | null;
  readonly query: string;
  /** The number of fields that are keys; 0: all but the last. */
  readonly depth: number;
  readonly asList: boolean;
  readonly asJson: boolean;
  /** Depths, from 1, at which keys become lists. */
  readonly withLists: readonly number[];
  readonly ignoreNull: boolean;
}

/**
 * The queries of an entry of `ext_pillar`: those without a name first, the others by name
 * (sql_base.py extract_queries). Entries without a query are left out.
 */
export function sqlQueries(args: SaltValue): SqlQuery[] {
  const named: [string | null, SaltValue][] = isMap(args)
    ? [...args].map(([key, value]): [string, SaltValue] => [pyStr(key), value]).sort(byName)
    : (Array.isArray(args) ? args : [args]).map((value): [null, SaltValue] => [null, value]);
  return named.flatMap(([root, given]) => {
    const rules = rulesOf(given);
    return rules.query === '' ? [] : [{ root, ...rules }];
  });
}

function byName([a]: [string | null, SaltValue], [b]: [string | null, SaltValue]): number {
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

function rulesOf(given: SaltValue): Omit<SqlQuery, 'root'> {
  const [query, depth] = Array.isArray(given) ? given : [given];
  const map = isMap(given) ? given : new Map<SaltValue, SaltValue>();
  const text = isMap(given) ? map.get('query') : query;
  const lists = map.get('with_lists');
  const listed = typeof lists === 'string' ? lists.split(',') : Array.isArray(lists) ? lists : [];
  return {
    query: typeof text === 'string' ? text : '',
    depth: Number((isMap(given) ? map.get('depth') : depth) ?? 0),
    asList: map.get('as_list') === true,
    asJson: map.get('as_json') === true,
    withLists: listed.map(Number),
    ignoreNull: map.get('ignore_null') === true,
  };
}

/** Puts the rows of a query into `result` (sql_base.py process_results). */
export function addRows(
  result: SaltMap,
  query: SqlQuery,
  fields: readonly string[],
  rows: readonly (readonly SaltValue[])[],
): void {
  let focus = result;
  if (query.root !== null && query.root !== '') {
    focus = new Map();
    result.set(query.root, focus);
  }
  const last = fields.length - 1;
  const depth = query.depth === 0 || query.depth >= fields.length ? last : query.depth;
  const toList = new Map<SaltMap, SaltValue[]>();
  for (const row of rows) {
    if (query.asJson && fields.length === 1) {
      const [value] = row;
      if (isMap(value)) for (const [key, item] of value) focus.set(key, item);
      continue;
    }
    addRow(focus, query, fields, row, depth, toList);
  }
  for (const [map, keys] of [...toList].reverse()) {
    for (const key of keys) {
      const value = map.get(key);
      if (isMap(value)) map.set(key, [...value.values()]);
      else if (Array.isArray(value)) map.set(key, [value]);
    }
  }
}

function addRow(
  focus: SaltMap,
  query: SqlQuery,
  fields: readonly string[],
  row: readonly SaltValue[],
  depth: number,
  toList: Map<SaltMap, SaltValue[]>,
): void {
  const listed = (map: SaltMap, at: number, key: SaltValue): void => {
    if (!query.withLists.includes(at)) return;
    const keys = toList.get(map) ?? [];
    if (!keys.includes(key)) keys.push(key);
    toList.set(map, keys);
  };
  let at = focus;
  for (let i = 0; i < depth - 1; i += 1) {
    const key = row[i] ?? null;
    listed(at, i + 1, key);
    at = entered(at, key, query.asList);
  }
  const key = row[depth - 1] ?? null;
  if (depth === fields.length - 1) {
    putLast(at, key, row[depth] ?? null, query, query.withLists.includes(depth));
    return;
  }
  if (!at.has(key)) at.set(key, new Map());
  listed(at, depth, key);
  const inner = at.get(key);
  if (!isMap(inner)) throw new TypeError('a row needs a map where another one has a value');
  for (let i = depth; i < fields.length; i += 1) {
    const name = fields[i] ?? '';
    listed(inner, i + 1, name);
    putLast(inner, name, row[i] ?? null, query, false);
  }
}

/** The map below a key; another value there is replaced, or becomes a list. */
function entered(at: SaltMap, key: SaltValue, asList: boolean): SaltMap {
  const known = at.get(key);
  if (isMap(known)) return known;
  const made: SaltMap = new Map();
  if (Array.isArray(known)) known.push(made);
  else at.set(key, known !== undefined && asList ? [known, made] : made);
  return made;
}

function putLast(
  at: SaltMap,
  key: SaltValue,
  value: SaltValue,
  query: SqlQuery,
  always: boolean,
): void {
  const known = at.get(key);
  if (always || (query.asList && known !== undefined)) {
    const before = known === undefined ? [] : Array.isArray(known) ? known : [known];
    at.set(key, [...before, value]);
  } else if (!query.ignoreNull || value !== null) {
    at.set(key, value);
  }
}
