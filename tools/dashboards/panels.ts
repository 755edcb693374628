// The kinds of panels of our dashboards, in Grafana's own form.
import type {
  DataSourceRef,
  GraphFieldConfig,
  Panel,
  TableOptions,
  ThresholdsConfig,
} from '@grafana/schema';
import {
  AxisPlacement,
  BigValueColorMode,
  BigValueGraphMode,
  GraphDrawStyle,
  LegendDisplayMode,
  SortOrder,
  StackingMode,
  ThresholdsMode,
  TooltipDisplayMode,
} from '@grafana/schema';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { Options as TimeSeriesOptions } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

/** The data sources that `infra/grafana/provisioning/datasources` sets up, by their uid. */
export const DATA_SOURCES = {
  prometheus: { type: 'prometheus', uid: 'brine-prometheus' },
  jaeger: { type: 'jaeger', uid: 'brine-jaeger' },
  postgres: { type: 'grafana-postgresql-datasource', uid: 'brine-postgres' },
} as const satisfies Record<string, DataSourceRef>;

/** A query in PromQL and the legend of its series. */
export type PromQuery = readonly [expression: string, legend?: string];

/** A panel without a position: `width` of 24 columns, `height` in rows of 30 pixels. */
export interface Tile {
  readonly width: number;
  readonly height: number;
  readonly panel: Panel;
}

interface TileOptions {
  readonly title: string;
  /** Its meaning for the operator; shown behind the (i). */
  readonly about: string;
  /** One of Grafana's units: `short`, `s`, `bytes`, `percentunit`, `reqps`, … */
  readonly unit?: string;
  readonly width?: number;
  readonly height?: number;
}

interface GraphOptions extends TileOptions {
  readonly queries: readonly PromQuery[];
  readonly stacked?: boolean;
  /** Shows the exemplars of histograms, each a link to its trace. */
  readonly exemplars?: boolean;
  readonly max?: number;
}

/** Lines over time. */
export function graph(options: GraphOptions): Tile {
  const custom: GraphFieldConfig = {
    drawStyle: GraphDrawStyle.Line,
    lineWidth: 1,
    fillOpacity: options.stacked === true ? 30 : 8,
    axisPlacement: AxisPlacement.Auto,
    axisSoftMin: 0,
    stacking: { mode: options.stacked === true ? StackingMode.Normal : StackingMode.None },
    // A restart of a service is a gap, not a slope.
    spanNulls: false,
  };
  const view: TimeSeriesOptions = {
    legend: {
      displayMode: LegendDisplayMode.List,
      placement: 'bottom',
      showLegend: true,
      calcs: [],
    },
    tooltip: { mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending },
  };
  const { max } = options;
  return tile(options, 8, 8, {
    type: 'timeseries',
    datasource: DATA_SOURCES.prometheus,
    fieldConfig: {
      defaults: {
        unit: options.unit ?? 'short',
        custom: { ...custom },
        ...(max === undefined ? {} : { max }),
      },
      overrides: [],
    },
    options: { ...view },
    targets: options.queries.map((query, index) =>
      promTarget(query, index, { range: true, exemplar: options.exemplars === true }),
    ),
  });
}

interface NumberOptions extends TileOptions {
  readonly queries: readonly PromQuery[];
  /** The panel is red from this value on (`worse: 'below'`: below it); without one never. */
  readonly red?: number;
  readonly worse?: 'above' | 'below';
}

/** One number, with its recent course behind it. */
export function stat(options: NumberOptions): Tile {
  const view: StatOptions = {
    colorMode: BigValueColorMode.Value,
    graphMode: BigValueGraphMode.Area,
    justifyMode: 'auto' as StatOptions['justifyMode'],
    textMode: 'auto' as StatOptions['textMode'],
    percentChangeColorMode: 'standard' as StatOptions['percentChangeColorMode'],
    showPercentChange: false,
    wideLayout: true,
    orientation: 'auto' as StatOptions['orientation'],
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  };
  return tile(options, 4, 4, {
    type: 'stat',
    datasource: DATA_SOURCES.prometheus,
    fieldConfig: {
      defaults: {
        unit: options.unit ?? 'short',
        thresholds: thresholds(options),
        noValue: 'no data',
      },
      overrides: [],
    },
    options: { ...view },
    targets: options.queries.map((query, index) => promTarget(query, index, { range: true })),
  });
}

/** A table of the last value of each series, the largest first. */
export function list(options: TileOptions & { readonly query: string }): Tile {
  return tile(options, 8, 8, {
    type: 'table',
    datasource: DATA_SOURCES.prometheus,
    fieldConfig: { defaults: { unit: options.unit ?? 'short' }, overrides: [] },
    options: tableView('Value'),
    targets: [
      { ...promTarget([options.query], 0, { range: false }), instant: true, format: 'table' },
    ],
    transformations: [
      { id: 'organize', options: { excludeByName: { Time: true }, renameByName: {} } },
    ],
  });
}

/** A table that PostgreSQL fills; `sql` may use `$__timeFilter(column)` and the variables. */
export function rows(options: TileOptions & { readonly sql: string }): Tile {
  return tile(options, 24, 8, {
    type: 'table',
    datasource: DATA_SOURCES.postgres,
    fieldConfig: {
      defaults: { ...(options.unit === undefined ? {} : { unit: options.unit }) },
      overrides: [],
    },
    options: tableView(),
    targets: [
      {
        refId: 'A',
        datasource: DATA_SOURCES.postgres,
        format: 'table',
        editorMode: 'code',
        rawQuery: true,
        rawSql: options.sql,
      },
    ],
  });
}

/** The spans of one trace. */
export function trace(options: TileOptions & { readonly traceId: string }): Tile {
  return tile(options, 24, 16, {
    type: 'traces',
    datasource: DATA_SOURCES.jaeger,
    targets: [{ refId: 'A', datasource: DATA_SOURCES.jaeger, query: options.traceId }],
  });
}

function tile(
  options: TileOptions,
  width: number,
  height: number,
  panel: Omit<Panel, 'title' | 'description'>,
): Tile {
  return {
    width: options.width ?? width,
    height: options.height ?? height,
    panel: { title: options.title, description: options.about, ...panel },
  };
}

function promTarget(
  [expression, legend]: PromQuery,
  index: number,
  more: { readonly range: boolean; readonly exemplar?: boolean },
): Record<string, unknown> {
  return {
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: DATA_SOURCES.prometheus,
    editorMode: 'code',
    expr: expression,
    legendFormat: legend ?? '__auto',
    ...more,
  };
}

function tableView(sortBy?: string): Record<string, unknown> {
  const view: TableOptions = {
    frameIndex: 0,
    showHeader: true,
    ...(sortBy === undefined ? {} : { sortBy: [{ displayName: sortBy, desc: true }] }),
  };
  return { ...view };
}

function thresholds({ red, worse = 'above' }: NumberOptions): ThresholdsConfig {
  const good = { color: 'green' };
  const bad = { color: 'red' };
  const [first, second] = worse === 'above' ? [good, bad] : [bad, good];
  // The first step has no lower bound, which Grafana writes as null although its types say number.
  const none = null as unknown as number;
  const mode = ThresholdsMode.Absolute;
  if (red === undefined) return { mode, steps: [{ ...good, value: none }] };
  return {
    mode,
    steps: [
      { ...first, value: none },
      { ...second, value: red },
    ],
  };
}
