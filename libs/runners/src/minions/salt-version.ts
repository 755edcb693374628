/** The form of a release: numbers, then a mark of a candidate, then commits. */
const FORM = /^v?(\d+(?:\.\d+)*)(?:(a|b|rc)(\d+))?(?:[+-](\d+)\.?.*)?$/;

/**
 * Compares two releases of Salt: below 0 if the first one is older. A candidate is older than its
 * release, commits on top of a release are newer.
 * @returns undefined if a text is no release
 */
export function compareVersions(one: string, other: string): number | undefined {
  const [a, b] = [partsOf(one), partsOf(other)];
  if (a === undefined || b === undefined) return undefined;
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The numbers of a release, at the same indexes for each. */
function partsOf(text: string): number[] | undefined {
  const found = FORM.exec(text.trim());
  if (found === null) return undefined;
  const [, numbers = '', stage, candidate = '0', commits = '0'] = found;
  const places = numbers.split('.').map(Number);
  const four = [0, 1, 2, 3].map((at) => places[at] ?? 0);
  const stageRank = { a: -3, b: -2, rc: -1 }[stage ?? ''] ?? 0;
  return [...four, stageRank, Number(candidate), Number(commits)];
}
