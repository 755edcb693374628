import type { Filter } from '../environment.ts';
import { DATA_FILTERS } from './data-filters.ts';
import { DATE_FILTERS } from './date-filters.ts';
import { HASH_FILTERS } from './hash-filters.ts';
import { QUERY_FILTERS } from './json-query.ts';
import { LIST_FILTERS } from './list-filters.ts';
import { NET_FILTERS } from './net-filters.ts';
import { PATH_FILTERS } from './path-filters.ts';
import { RANDOM_FILTERS } from './random-filters.ts';
import { REGEX_FILTERS } from './regex-filters.ts';
import { SALT_FILTERS } from './salt-filters.ts';
import { TEXT_FILTERS } from './text-filters.ts';
import { XML_FILTERS } from './xml-filter.ts';

// Salt's filters come later, so they replace Jinja's (Salt: salt/utils/templates.py).
const FILTERS: ReadonlyMap<string, Filter> = new Map([
  ...TEXT_FILTERS,
  ...LIST_FILTERS,
  ...DATE_FILTERS,
  ...HASH_FILTERS,
  ...NET_FILTERS,
  ...PATH_FILTERS,
  ...QUERY_FILTERS,
  ...RANDOM_FILTERS,
  ...REGEX_FILTERS,
  ...SALT_FILTERS,
  ...DATA_FILTERS,
  ...XML_FILTERS,
]);

/** Finds a filter: first in this library, then among those of the host. */
export function findFilter(
  name: string,
  more: ReadonlyMap<string, Filter> | undefined,
): Filter | undefined {
  return FILTERS.get(name) ?? more?.get(name);
}
