/** A bar of a small chart, in units of its box. */
export interface ChartBar {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Part of a step that stays empty between two bars. */
const GAP = 0.2;
/** A value that is not zero is seen. */
const HEIGHT_MIN = 2;

/** Values as bars; the largest one fills the box. */
export function chartBars(
  values: readonly number[],
  box: { readonly width: number; readonly height: number },
): readonly ChartBar[] {
  const most = Math.max(1, ...values);
  const step = box.width / Math.max(1, values.length);
  return values.flatMap((value, at) => {
    if (value <= 0) return [];
    const height = Math.max(HEIGHT_MIN, (value / most) * box.height);
    return [{ x: at * step, y: box.height - height, width: step * (1 - GAP), height }];
  });
}

/** Values as a sentence. @param thing what is counted, as `jobs` */
export function chartSentence(values: readonly number[], thing: string, step: string): string {
  const number = new Intl.NumberFormat('en');
  const most = number.format(Math.max(0, ...values));
  const last = number.format(values.at(-1) ?? 0);
  return `${thing} in each of the last ${values.length} ${step}s: now ${last}, at most ${most}`;
}
