import { Text } from '@mantine/core';

/** How bad something is. */
export type Level = 'ok' | 'warn' | 'bad';

const SIGNS: Readonly<Record<Level, readonly [shape: string, word: string, colour: string]>> = {
  ok: ['●', 'ok', 'var(--state-returned)'],
  warn: ['!', 'warning', 'var(--state-late)'],
  bad: ['✖', 'bad', 'var(--state-failed)'],
};

/** A level: its shape, its word, then its colour. */
export function LevelSign({ level, word = SIGNS[level][1] }: { level: Level; word?: string }) {
  const [shape, , colour] = SIGNS[level];
  return (
    <Text span size="sm" c={colour} fw={600} style={{ whiteSpace: 'nowrap' }}>
      <span aria-hidden>{shape}</span> {word}
    </Text>
  );
}
