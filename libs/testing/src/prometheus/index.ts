export { postgresExporter, prometheusBinaries } from './binaries.ts';
export { promtool, startPrometheus } from './start.ts';
export type { Series, TestPrometheus } from './start.ts';
