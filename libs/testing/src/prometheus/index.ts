export { postgresExporter, prometheusBinaries, PrometheusMissingError } from './binaries.ts';
export { promtool, startPrometheus } from './start.ts';

export type { PrometheusBinaries } from './binaries.ts';
export type {
  Exemplar,
  LoadedRule,
  PrometheusOptions,
  ScrapeTarget,
  Series,
  TestPrometheus,
} from './start.ts';
