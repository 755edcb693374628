import { useCallback, useEffect, useRef, useState } from 'react';

/** A list with neither the pointer nor the focus in it is renewed at this interval, ms. */
const REST_MS = 1_000;

/**
 * Keeps a list up to date that would move: at once while nothing points into it, else once one
 * asks for it. Give `touch` to the element around the list.
 * @param came how many things came in all
 */
export function useCalm(came: number, refresh: () => void) {
  const [seen, setSeen] = useState(came);
  const [isTouched, setTouched] = useState(false);
  const latest = useRef({ came, refresh });
  useEffect(() => {
    latest.current = { came, refresh };
  });
  const show = useCallback(() => {
    setSeen(latest.current.came);
    latest.current.refresh();
  }, []);
  const isBehind = came !== seen;
  useEffect(() => {
    if (isTouched || !isBehind) return undefined;
    const timer = setTimeout(show, REST_MS);
    return () => clearTimeout(timer);
  }, [isTouched, isBehind, show]);
  const touch = {
    onPointerEnter: () => setTouched(true),
    onPointerLeave: () => setTouched(false),
    onFocus: () => setTouched(true),
    onBlur: () => setTouched(false),
  };
  return { fresh: came - seen, show, touch };
}
