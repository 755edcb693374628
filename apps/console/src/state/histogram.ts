/** How many events there were in each part of a time. */
export interface Histogram {
  /** Ms of the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly counts: readonly number[];
}

/** Counts times in parts of the same length; undefined without any time. @param times ms */
export function histogramOf(times: readonly number[], parts: number): Histogram | undefined {
  const [first] = times;
  if (first === undefined) return undefined;
  let [fromMs, toMs] = [first, first];
  for (const time of times) {
    fromMs = Math.min(fromMs, time);
    toMs = Math.max(toMs, time);
  }
  const counts = new Array<number>(parts).fill(0);
  for (const time of times) {
    const part = toMs === fromMs ? 0 : Math.floor(((time - fromMs) / (toMs - fromMs)) * parts);
    const at = Math.min(part, parts - 1);
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return { fromMs, toMs, counts };
}

/** The time from one place to another one, each a share of the width, in any order. */
export function rangeOf(
  { fromMs, toMs }: Pick<Histogram, 'fromMs' | 'toMs'>,
  one: number,
  other: number,
): { readonly from: string; readonly to: string } {
  const timeAt = (share: number): number =>
    fromMs + Math.max(0, Math.min(1, share)) * (toMs - fromMs);
  const [early, late] = one < other ? [one, other] : [other, one];
  // `to` is not in a range: the last event is, if the range ends there.
  return {
    from: new Date(Math.floor(timeAt(early))).toISOString(),
    to: new Date(Math.ceil(timeAt(late)) + 1).toISOString(),
  };
}
