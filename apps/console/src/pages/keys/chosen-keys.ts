import type { KeyShown } from '@brine/api/fleet';
import { useMemo, useState } from 'react';

/** Keys that are chosen. */
export type ChosenKeys = ReturnType<typeof useChosenKeys>;

/** Keys that are chosen, with their fingerprints as they were shown. */
export function useChosenKeys(rows: readonly KeyShown[]) {
  const [byId, setById] = useState<ReadonlyMap<string, KeyShown>>(new Map());
  return useMemo(
    () => ({
      keys: [...byId.values()],
      has: (id: string) => byId.has(id),
      toggle: (id: string) => {
        const next = new Map(byId);
        const row = rows.find((one) => one.id === id);
        if (!next.delete(id) && row !== undefined) next.set(id, row);
        setById(next);
      },
      add: (more: readonly KeyShown[]) =>
        setById(new Map([...byId, ...more.map((one) => [one.id, one] as const)])),
      clear: () => setById(new Map()),
    }),
    [byId, rows],
  );
}
