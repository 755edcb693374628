import { Progress, Text } from '@mantine/core';
import { Given } from '../../parts/given.tsx';
import { Panel } from '../../parts/panel.tsx';
import classes from './job-progress.module.css';
import type { LiveProgress } from './live-job.ts';

/** Minions whose progress is drawn. */
const SHOWN = 8;

/** The states that run now. Minions send this with `state_events: true`. */
export function JobProgress({
  progress,
}: {
  readonly progress: ReadonlyMap<string, LiveProgress>;
}) {
  if (progress.size === 0) return null;
  // By id, so that no line moves while one reads it.
  const all = [...progress.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  return (
    <Panel title="Running now">
      <ul className={classes['lines']}>
        {all.slice(0, SHOWN).map(({ id, state, result, number, of }) => (
          <li key={id}>
            <Given text={id} max={60} />
            {of !== undefined && of > 0 && (
              <Progress value={(number / of) * 100} aria-label={`Progress of ${id}`} />
            )}
            <Text span size="sm" className="number">
              state {number}
              {of === undefined ? '' : ` of ${of}`}
              {result === false ? ' ✖ failed' : ''}: <Given text={state ?? '–'} max={100} />
            </Text>
          </li>
        ))}
      </ul>
      {all.length > SHOWN && <Text size="sm">and {all.length - SHOWN} more minions</Text>}
    </Panel>
  );
}
