import { Group, Text } from '@mantine/core';
import { chartBars, chartSentence } from '../../state/bars.ts';
import classes from './bar-chart.module.css';

const BOX = { width: 300, height: 40 } as const;
const NUMBER = new Intl.NumberFormat('en');

interface BarChartProps {
  readonly title: string;
  /** What is counted, as `Jobs`. */
  readonly thing: string;
  /** What a value is of, as `minute`. */
  readonly step: 'minute' | 'second';
  readonly values: readonly number[];
}

/** How much of something came of late: a bar for each step, the newest on the right. */
export function BarChart({ title, thing, step, values }: BarChartProps) {
  const last = NUMBER.format(values.at(-1) ?? 0);
  return (
    <div>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">{title}</Text>
        <Text size="sm" className="number">
          {last} now, at most {NUMBER.format(Math.max(0, ...values))}
        </Text>
      </Group>
      <svg
        role="img"
        aria-label={chartSentence(values, thing, step)}
        viewBox={`0 0 ${BOX.width} ${BOX.height}`}
        preserveAspectRatio="none"
        className={classes['chart']}
      >
        <line x1="0" x2={BOX.width} y1={BOX.height} y2={BOX.height} className={classes['ground']} />
        {chartBars(values, BOX).map((bar) => (
          <rect key={bar.x} {...bar} className={classes['bar']} />
        ))}
      </svg>
    </div>
  );
}
