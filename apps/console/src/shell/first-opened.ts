import { useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { keepFirstMinute, openedBy, readFirstMinute } from '../state/first-minute.ts';

/** Keeps in mind what of the first minute was opened, by whichever way. */
export function useFirstOpened(): void {
  const { pathname, search } = useLocation();
  const opened = openedBy(pathname, search);
  useEffect(() => {
    if (opened === undefined) return;
    const kept = readFirstMinute();
    if (kept.opened.includes(opened)) return;
    keepFirstMinute({ ...kept, opened: [...kept.opened, opened] });
  }, [opened]);
}
