export { postgresExporter, prometheusBinaries } from './prometheus-binaries.ts';
export type { Series, TestPrometheus } from './start.ts';
export { promtool, startPrometheus } from './start.ts';
