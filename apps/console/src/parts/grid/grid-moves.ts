/** Where a key takes the focus in a list of rows; undefined for a key that does not move it. */
export function gridMove(
  key: string,
  at: number,
  { total, page }: { readonly total: number; readonly page: number },
): number | undefined {
  const to = TARGETS.get(key)?.(at, page, total - 1);
  return to === undefined || total === 0 ? undefined : Math.max(0, Math.min(total - 1, to));
}

type Move = (at: number, page: number, last: number) => number;

const TARGETS: ReadonlyMap<string, Move> = new Map<string, Move>([
  ['ArrowDown', (at) => at + 1],
  ['j', (at) => at + 1],
  ['ArrowUp', (at) => at - 1],
  ['k', (at) => at - 1],
  ['PageDown', (at, page) => at + page],
  ['PageUp', (at, page) => at - page],
  ['Home', () => 0],
  ['End', (_at, _page, last) => last],
]);
