import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { ApiError } from '../../../api/ask.ts';
import { traceQuery } from '../../../api/job.ts';
import { CopyMenu } from '../../../parts/copy-menu.tsx';
import { Given, shown } from '../../../parts/given.tsx';
import { Grid, type GridColumn } from '../../../parts/grid/grid.tsx';
import { Empty, Sourced } from '../../../parts/panel.tsx';
import { useSettings } from '../../../state/settings.ts';
import { shellLine } from '../../../state/shell-word.ts';
import { duration } from '../../../state/times.ts';
import { useJobSearch } from '../use-job-search.ts';
import { ALL_OPEN, allClosed, folded, type Folds, foldsIn, foldsText, isClosed } from './folds.ts';
import classes from './job-trace.module.css';
import { SpanDrawer } from './span-drawer.tsx';
import { openRows, type TraceRows, traceRows, type TraceSpan } from './trace-rows.ts';

const NUMBER = new Intl.NumberFormat('en');
/** Deeper spans are not moved further to the right. */
const DEPTH_MAX = 20;

/** The way of a job through the services, as spans over time. */
export function JobTrace() {
  const { jid, search, change } = useJobSearch();
  const { settings } = useSettings();
  const trace = useQuery(traceQuery(jid));
  const rows = useMemo(() => traceRows(trace.data?.roots ?? []), [trace.data]);
  const folds = useMemo(() => foldsIn(search.closed), [search.closed]);
  const setFolds = (next: Folds): void => change({ closed: foldsText(next) });
  const seen = useMemo(() => openRows(rows, folds), [rows, folds]);
  const fold = ({ index, below }: TraceSpan, toClosed: boolean): void => {
    if (below > 0) setFolds(folded(folds, index, toClosed));
  };
  const isNone = trace.error instanceof ApiError && trace.error.code === 'not-found';
  if (isNone || (trace.data !== undefined && rows.spans.length === 0)) {
    return (
      <Empty command="brine.trace">
        The host of this page has no trace of this job. Its way is recorded with the option
      </Empty>
    );
  }
  const roots = rows.spans.flatMap(({ index, depth }) => (depth === 0 ? [index] : []));
  const leftOut = trace.data?.spansLeftOut ?? 0;
  return (
    <Stack gap="sm">
      <Sourced source={trace}>
        <Group justify="space-between">
          <Text size="sm">
            {NUMBER.format(rows.spans.length)} spans in {duration(rows.endMs - rows.startMs)}
            {leftOut > 0 && `; ${NUMBER.format(leftOut)} more are left out`}. ▮ is the critical
            path: what the others waited for.
          </Text>
          <Group gap="xs">
            <Button size="compact-sm" variant="default" onClick={() => setFolds(allClosed(roots))}>
              Close all
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => setFolds(ALL_OPEN)}>
              Open all
            </Button>
            <CopyMenu
              path={`/jobs/${encodeURIComponent(jid)}/trace`}
              command={shellLine('brine', 'trace', jid)}
            />
          </Group>
        </Group>
        <Grid
          label="Spans"
          columns={columnsOf(rows, folds, fold)}
          total={seen.length}
          rowAt={(index) => seen[index]}
          keyOf={({ index }) => String(index)}
          onOpen={({ index }) => change({ span: String(index) })}
          onFold={fold}
          density={settings.density}
        />
        <Text size="xs" c="dimmed">
          ← closes what a span caused, → opens it, Enter shows more of the span.
        </Text>
        <SpanDrawer
          span={rows.spans[Number(search.span ?? NaN)]}
          zeroMs={rows.startMs}
          onClose={() => change({ span: '' })}
        />
      </Sourced>
    </Stack>
  );
}

function columnsOf(
  rows: TraceRows,
  folds: Folds,
  fold: (span: TraceSpan, toClosed: boolean) => void,
): readonly GridColumn<TraceSpan>[] {
  return [
    {
      id: 'part',
      title: 'Part',
      width: 'minmax(10rem, 2fr)',
      cell: (span) => <Part span={span} isClosed={isClosed(folds, span.index)} fold={fold} />,
    },
    {
      id: 'service',
      title: 'Service',
      width: 'minmax(6rem, 1fr)',
      isWide: true,
      cell: ({ service }) => <Given text={service} />,
    },
    {
      id: 'duration',
      title: 'Time',
      width: '6rem',
      cell: ({ startMs, endMs, error }) => (
        <span className="number">
          {error !== undefined && '✖ '}
          {duration(endMs - startMs)}
        </span>
      ),
    },
    {
      id: 'bar',
      title: `0 – ${duration(rows.endMs - rows.startMs)}`,
      width: 'minmax(8rem, 3fr)',
      cell: (span) => <SpanBar span={span} rows={rows} />,
    },
  ];
}

interface PartProps {
  readonly span: TraceSpan;
  readonly isClosed: boolean;
  readonly fold: (span: TraceSpan, toClosed: boolean) => void;
}

/** The name of a span, and a button that closes or opens what is below it. */
function Part({ span, isClosed: isShut, fold }: PartProps) {
  return (
    <span style={{ paddingInlineStart: `${Math.min(span.depth, DEPTH_MAX)}rem` }}>
      <button
        type="button"
        tabIndex={-1}
        className={classes['fold']}
        aria-label={`${isShut ? 'Open' : 'Close'} ${shown(span.part, 100)}`}
        aria-expanded={!isShut}
        hidden={span.below === 0}
        onClick={() => fold(span, !isShut)}
      >
        {isShut ? '▸' : '▾'}
      </button>{' '}
      <Given text={span.part} />
      {isShut && ` (${NUMBER.format(span.below)})`}
    </span>
  );
}

/** A span over time. */
function SpanBar({ span, rows }: { readonly span: TraceSpan; readonly rows: TraceRows }) {
  const all = Math.max(1e-6, rows.endMs - rows.startMs);
  const left = ((span.startMs - rows.startMs) / all) * 100;
  const width = ((span.endMs - span.startMs) / all) * 100;
  return (
    <div className={classes['track']} role="img" aria-label={sentence(span, rows.startMs)}>
      <span
        className={`${classes['bar']} ${span.isCritical ? classes['critical'] : ''} ${
          span.error === undefined ? '' : classes['failed']
        }`}
        style={{ insetInlineStart: `${left}%`, width: `max(2px, ${width}%)` }}
      />
    </div>
  );
}

function sentence(span: TraceSpan, zeroMs: number): string {
  const { part, service, startMs, endMs, error, isCritical } = span;
  const times = `${duration(endMs - startMs)}, from ${duration(startMs - zeroMs)} on`;
  return [
    `${shown(part, 100)} of ${shown(service, 60)}: ${times}`,
    isCritical ? 'on the critical path' : '',
    error === undefined ? '' : `failed: ${shown(error, 200)}`,
  ]
    .filter((text) => text !== '')
    .join(', ');
}
