import type { JobStates } from '@brine/api/jobs';

type StateRow = JobStates['items'][number];

const ORDERS = ['id', 'ok', 'changed', 'failed', 'would', 'slowestMs'] as const;

/**
 * States in an order of their page. Without one: as the server has them, failures first.
 * @param sort a field, with `-` downwards
 */
export function sortedStates(items: readonly StateRow[], sort = ''): readonly StateRow[] {
  const field = ORDERS.find((one) => one === sort.replace(/^-/, ''));
  if (field === undefined) return items;
  const sign = sort.startsWith('-') ? -1 : 1;
  return [...items].sort((one, other) => sign * compare(one[field], other[field]));
}

function compare(one: string | number, other: string | number): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
