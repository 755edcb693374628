import type { DriftShown } from '@brine/api/fleet';
import { Text } from '@mantine/core';

export type Drift = DriftShown['state'];

/** Each state as a shape, a letter and a word: colour comes last. */
export const DRIFT_SIGNS: Readonly<
  Record<
    Drift,
    {
      readonly shape: string;
      readonly letter: string;
      readonly word: string;
      readonly colour: string;
    }
  >
> = {
  failed: { shape: '✖', letter: 'F', word: 'failed', colour: 'var(--state-failed)' },
  would: { shape: '◐', letter: 'W', word: 'would change', colour: 'var(--state-late)' },
  clean: { shape: '●', letter: 'C', word: 'clean', colour: 'var(--state-returned)' },
  unknown: { shape: '○', letter: 'U', word: 'not known', colour: 'var(--state-waiting)' },
};

/** How a minion stands to its states. */
export function DriftSign({ state }: { readonly state: Drift }) {
  const { shape, word, colour } = DRIFT_SIGNS[state];
  return (
    <Text span size="sm" c={colour} {...(state === 'failed' ? { fw: 600 } : {})}>
      <span aria-hidden>{shape}</span> {word}
    </Text>
  );
}
