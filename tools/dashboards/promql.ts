// Pieces of PromQL that the dashboards share.

/**
 * Zero where nothing has happened yet: a counter with labels has no series before its first.
 * `on ()` keeps the zero away where there is anything else.
 */
export function orZero(expression: string): string {
  return `${expression} or on () vector(0)`;
}

/** Per second over the dashboard's own step; added up over replicas, by these labels. */
export function rate(counter: string, by: readonly string[] = []): string {
  return `${sum(by)} (rate(${counter}[$__rate_interval]))`;
}

/** How often in the time that is shown. */
export function total(counter: string, by: readonly string[] = []): string {
  return `${sum(by)} (increase(${counter}[$__range]))`;
}

/** A quantile of a histogram over all replicas, by these labels. */
export function quantile(q: number, histogram: string, by: readonly string[] = []): string {
  const [, name = histogram, labels = ''] = /^([a-z_]+)(\{.*\})?$/.exec(histogram) ?? [];
  const rates = `rate(${name}_bucket${labels}[$__rate_interval])`;
  return `histogram_quantile(${q}, ${sum(['le', ...by])} (${rates}))`;
}

function sum(by: readonly string[]): string {
  return by.length === 0 ? 'sum' : `sum by (${by.join(', ')})`;
}
