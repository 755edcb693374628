// Pieces of PromQL that the dashboards share.

/**
 * Zero before the first event: a counter with labels has no series until then. `on ()` drops the
 * zero if there is any other series.
 */
export function orZero(expression: string): string {
  return `${expression} or on () vector(0)`;
}

/** Rate per second over the dashboard's own step; summed over replicas, by these labels. */
export function rate(counter: string, by: readonly string[] = []): string {
  return `${sum(by)} (rate(${counter}[$__rate_interval]))`;
}

/** Count in the time shown. */
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
