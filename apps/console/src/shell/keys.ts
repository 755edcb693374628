import { useEffect, useRef } from 'react';
import { isWriting, leaveField } from './here.ts';

/** The second key of two comes within this, ms. */
const PAIR_MS = 1_500;

/** What keys do, by their names: one key, or `g` and another one as `g j`. */
export type KeyActs = Readonly<Record<string, () => void>>;

/** Acts on keys while the page is there, but not in a field where one writes. */
export function useKeys(acts: KeyActs): void {
  const latest = useRef(acts);
  useEffect(() => {
    latest.current = acts;
  });
  useEffect(() => {
    let before: { readonly key: string; readonly at: number } | undefined;
    const press = (event: KeyboardEvent): void => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (isWriting(event.target)) {
        if (event.key === 'Escape') leaveField(event.target);
        return;
      }
      // A grid has done it.
      if (event.defaultPrevented) return;
      const isPair = before !== undefined && event.timeStamp - before.at < PAIR_MS;
      const name = isPair ? `${before?.key ?? ''} ${event.key}` : event.key;
      before = !isPair && event.key === 'g' ? { key: 'g', at: event.timeStamp } : undefined;
      const act = latest.current[name];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, []);
}
