import type { MinionShown } from '@brine/api/fleet';
import { StateSign } from './state-sign.tsx';

/** Whether a minion is connected: a shape, then the word. */
export function PresenceSign({ present }: Pick<MinionShown, 'present'>) {
  if (present === null) return <span>– no key</span>;
  return present ? (
    <StateSign state="returned" word="connected" />
  ) : (
    <StateSign state="waiting" word="not connected" />
  );
}

const KEYS: Readonly<Record<MinionShown['key'], string>> = {
  accepted: '✓',
  pending: '?',
  rejected: '✖',
  denied: '!',
};

/** The state of a key: a sign, then the word. */
export function KeySign({ state }: { readonly state: MinionShown['key'] }) {
  return (
    <span>
      <span aria-hidden>{KEYS[state]}</span> {state}
    </span>
  );
}
