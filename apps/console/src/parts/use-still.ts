import { useState } from 'react';

/**
 * Keeps a list as it is while the pointer or the focus is in it: nothing moves there. Give `touch`
 * to the element around the list.
 */
export function useStill<Row extends { readonly id: string }>(rows: readonly Row[]) {
  const [kept, keep] = useState<readonly Row[]>();
  const touch = {
    onPointerEnter: () => keep((old) => old ?? rows),
    onPointerLeave: () => keep(undefined),
    onFocus: () => keep((old) => old ?? rows),
    onBlur: () => keep(undefined),
  };
  const shown = kept ?? rows;
  return { shown, isBehind: idsOf(shown) !== idsOf(rows), show: () => keep(rows), touch };
}

function idsOf(rows: readonly { readonly id: string }[]): string {
  return JSON.stringify(rows.map(({ id }) => id));
}
