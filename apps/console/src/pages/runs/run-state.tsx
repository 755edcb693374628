import type { RunsPage } from '@brine/api/runs';

/** How a run stands: a shape and a word. */
export function RunState({
  run: { state, success },
}: {
  readonly run: Pick<RunsPage['items'][number], 'state' | 'success'>;
}) {
  const [shape, word] = SIGNS[state === 'ended' ? (success === false ? 'failed' : 'done') : state];
  return (
    <span style={success === false ? { color: 'var(--state-failed)' } : {}}>
      <span aria-hidden>{shape}</span> {word}
    </span>
  );
}

const SIGNS = {
  waiting: ['○', 'waiting'],
  running: ['◐', 'running'],
  done: ['●', 'succeeded'],
  failed: ['✖', 'failed'],
} as const;
