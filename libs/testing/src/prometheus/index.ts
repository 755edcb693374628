export { postgresExporter, prometheusBinaries } from './binaries.ts';
export type { Series, TestPrometheus } from './start.ts';
export { promtool, startPrometheus } from './start.ts';
