import type { EventShown } from '@brine/api';
import { Group, Text } from '@mantine/core';
import { type PointerEvent, useMemo, useState } from 'react';
import { Clock } from '../../parts/clock.tsx';
import { type Histogram, histogramOf, rangeOf } from '../../state/histogram.ts';
import classes from './histogram.module.css';

const PARTS = 80;
const HEIGHT = 100;
/** A click is no range, as a share of the width. */
const RANGE_MIN = 0.01;
const NUMBER = new Intl.NumberFormat('en');

interface EventHistogramProps {
  readonly rows: readonly EventShown[];
  /** Not for keys: the fields for the time do the same. */
  readonly onChoose: (range: { readonly from: string; readonly to: string }) => void;
}

/** When the events of the list happened; dragging over it chooses a part of the time. */
export function EventHistogram({ rows, onChoose }: EventHistogramProps) {
  const found = useMemo(
    () =>
      histogramOf(
        rows.map(({ at }) => Date.parse(at)),
        PARTS,
      ),
    [rows],
  );
  if (found === undefined) return null;
  return (
    <div>
      <Chart found={found} count={rows.length} onChoose={onChoose} />
      <Group justify="space-between">
        <Text size="xs">
          <Clock time={timeOf(found.fromMs)} />
        </Text>
        <Text size="xs" c="dimmed" visibleFrom="xs">
          {`${NUMBER.format(rows.length)} events; drag to choose a time`}
        </Text>
        <Text size="xs">
          <Clock time={timeOf(found.toMs)} />
        </Text>
      </Group>
    </div>
  );
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

interface ChartProps extends Pick<EventHistogramProps, 'onChoose'> {
  readonly found: Histogram;
  readonly count: number;
}

function Chart({ found, count, onChoose }: ChartProps) {
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number }>();
  const most = Math.max(...found.counts);
  const sentence = `${NUMBER.format(count)} events, at most ${NUMBER.format(most)} at once`;
  const down = (event: PointerEvent<HTMLDivElement>): void => {
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = shareAt(event);
    setDrag({ from: at, to: at });
  };
  const move = (event: PointerEvent<HTMLDivElement>): void => {
    if (drag !== undefined) setDrag({ ...drag, to: shareAt(event) });
  };
  const up = (): void => {
    setDrag(undefined);
    if (drag === undefined || Math.abs(drag.to - drag.from) < RANGE_MIN) return;
    onChoose(rangeOf(found, drag.from, drag.to));
  };
  return (
    <div
      className={classes['chart']}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={() => setDrag(undefined)}
    >
      <svg
        role="img"
        aria-label={sentence}
        viewBox={`0 0 ${PARTS} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {found.counts.map((part, at) => {
          // One event among many is seen too.
          const height = part === 0 ? 0 : Math.max(4, (part / most) * HEIGHT);
          return (
            <rect
              key={at}
              x={at}
              y={HEIGHT - height}
              width={0.9}
              height={height}
              className={classes['bar']}
            />
          );
        })}
      </svg>
      {drag !== undefined && (
        <div
          className={classes['chosen']}
          style={{
            left: `${Math.min(drag.from, drag.to) * 100}%`,
            width: `${Math.abs(drag.to - drag.from) * 100}%`,
          }}
        />
      )}
    </div>
  );
}

/** Where the pointer is, as a share of the width. */
function shareAt({ clientX, currentTarget }: PointerEvent<HTMLDivElement>): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.max(0, Math.min(1, (clientX - left) / Math.max(1, width)));
}
