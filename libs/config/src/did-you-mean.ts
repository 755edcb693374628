/** Longer names are not compared: they are no misspelt options. */
const NAME_MAX = 60;

/**
 * The known name nearest to `name`: at most two letters, and a third of them, may differ. Undefined
 * if none is that near.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > NAME_MAX) return undefined;
  let nearest: string | undefined;
  let least = Math.min(2, Math.floor(name.length / 3));
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > least) continue;
    const distance = editDistance(name, candidate);
    if (distance > least || (distance === least && nearest !== undefined)) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/** Letters to add, drop, change or swap with the next (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (last[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, change);
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? Infinity) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
