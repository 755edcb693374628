export { startHealth } from './health.ts';
export { MASTER_SERVICES, masterServices } from './master-services.ts';
export { Metrics } from './metrics.ts';
export { EXIT_CONFIG, runService } from './run-service.ts';
export { livingSupervisor, readState, stateFile } from './state-file.ts';
export { superviseServices } from './supervisor.ts';

export type { ServiceSpec, ServiceState } from './child-service.ts';
export type { HealthServer, HealthSource } from './health.ts';
export type { MasterServiceName, MasterServicesSettings } from './master-services.ts';
export type { Counter, Gauge, Histogram } from './metrics.ts';
export type { RunningService, Service, ServiceContext } from './run-service.ts';
export type { SupervisorState } from './state-file.ts';
export type { Supervisor, SupervisorOptions } from './supervisor.ts';
