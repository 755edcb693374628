export { startHealth } from './health.ts';
export { Metrics } from './metrics.ts';
export { EXIT_CONFIG, runService } from './run-service.ts';

export type { HealthServer, HealthSource } from './health.ts';
export type { Counter, Gauge, Histogram } from './metrics.ts';
export type { RunningService, Service, ServiceContext } from './run-service.ts';
