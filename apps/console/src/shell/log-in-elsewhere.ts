import { ELSEWHERE_PATH } from '../places.ts';

/** By what the master writes behind the address (libs/netapi src/console/log-in-elsewhere.ts). */
const TROUBLES: Readonly<Record<string, string>> = {
  refused:
    'The log-in was refused, by its provider or by the master, or it took longer than ten ' +
    'minutes. The log of the master has the reason.',
  away: 'The provider of the log-in, or the master, does not answer. Other log-ins may work.',
  stale:
    'This browser has no log-in that waits: it was begun in another one, at another address, or ' +
    'more than ten minutes ago. Begin again here.',
};

/** What became of a log-in elsewhere; undefined for any other text. */
export function troubleElsewhere(outcome: string | null): string | undefined {
  return outcome !== null && Object.hasOwn(TROUBLES, outcome) ? TROUBLES[outcome] : undefined;
}

/** Leaves for the provider; the browser comes back to this very page. */
export function leaveForLogIn(): void {
  const { pathname, search } = window.location;
  const query = new URLSearchParams({ to: pathname + search });
  window.location.assign(`${ELSEWHERE_PATH}?${query}`);
}
