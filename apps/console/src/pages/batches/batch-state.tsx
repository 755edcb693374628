import type { BatchesShown } from '@brine/api/runs';
import { Group, Progress, Text } from '@mantine/core';

export type BatchLine = BatchesShown['items'][number];

const NUMBER = new Intl.NumberFormat('en');

/** How a batch stands: a shape and a word. */
export function BatchState({
  batch,
}: {
  readonly batch: BatchLine & { readonly ended?: boolean };
}) {
  const [shape, word] = stateOf(batch);
  return (
    <span>
      <span aria-hidden>{shape}</span> {word}
    </span>
  );
}

function stateOf(batch: BatchLine & { readonly ended?: boolean }): readonly [string, string] {
  if (batch.halted !== null) return ['■', `stopped: ${HALTS.get(batch.halted) ?? batch.halted}`];
  if (batch.ended === true) return batch.failed > 0 ? ['✖', 'ended'] : ['●', 'ended'];
  return batch.paused ? ['‖', 'paused'] : ['◐', 'running'];
}

/** Why a batch was stopped, in words. */
const HALTS = new Map([
  ['canary', 'one of its first minions failed'],
  ['failures', 'too many failed'],
  ['stop', 'by a person'],
  ['failhard', 'one failed'],
]);

/** Its minions as numbers and a bar. */
export function BatchCounts({ batch }: { readonly batch: BatchLine }) {
  const { total, completed, active, pending, failed } = batch;
  return (
    <Group gap="md" className="number">
      <Text>● {NUMBER.format(completed)} done</Text>
      <Text>◐ {NUMBER.format(active)} running</Text>
      <Text>○ {NUMBER.format(pending)} to come</Text>
      <Text {...(failed > 0 ? { fw: 700, c: 'var(--state-failed)' } : { c: 'dimmed' })}>
        ✖ {NUMBER.format(failed)} silent
      </Text>
      <Text c="dimmed">of {NUMBER.format(total)}</Text>
    </Group>
  );
}

export function BatchBar({ batch }: { readonly batch: BatchLine }) {
  const { total, completed, active, failed } = batch;
  const share = (count: number): number => (total === 0 ? 0 : (count / total) * 100);
  return (
    <Progress.Root size="lg" role="img" aria-label={`${completed} of ${total} minions are done`}>
      <Progress.Section value={share(completed)} color="teal" withAria={false} />
      <Progress.Section value={share(active)} color="yellow" withAria={false} striped />
      <Progress.Section value={share(failed)} color="red" withAria={false} />
    </Progress.Root>
  );
}
