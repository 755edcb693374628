export { parseServiceArguments } from './arguments.ts';
export { Backoff } from './backoff.ts';
export { claimHost, HostTakenError } from './claim-host.ts';
export { startHealth } from './health.ts';
export { heldPort, heldSocket } from './held-ports.ts';
export { asideTeller } from './aside-teller.ts';
export { addConnectionMetrics } from './connection-metrics.ts';
export { keepInspectorShut } from './inspector.ts';
export { LogFormatError } from './log-format.ts';
export { partLevel } from './log-levels.ts';
export { openLogOutput } from './log-output.ts';
export { logOptions } from './option-lines.ts';
export { MASTER_SERVICES, masterServices } from './master-services.ts';
export { startJoinedMetrics } from './joined-metrics.ts';
export { Metrics, MILLISECOND_BUCKETS } from './metrics.ts';
export { probeService } from './probe.ts';
export { refusedAsRoot } from './process-user.ts';
export { EXIT_CONFIG, runService } from './run-service.ts';
export { onStopSignal } from './stop-signals.ts';
export { livingSupervisor, readState, stateFile, writePidfile } from './state-file.ts';
export { superviseServices } from './supervisor.ts';
export { tagPrefixCounter } from './tag-prefixes.ts';
export { tracedJobs } from './traced-job.ts';

export type { ReplaceTimes, ServiceState } from './child-service.ts';
export type { ServiceSpec } from './service-process.ts';
export type { ClaimedHost, HostClaim } from './claim-host.ts';
export type { DebugSignal } from './inspector.ts';
export type { HealthServer, HealthSource } from './health.ts';
export type { LogSource } from './log-lines.ts';
export type { LogOutput, LogOutputOptions } from './log-output.ts';
export type { MasterServiceName, MasterServicesSettings } from './master-services.ts';
export type {
  Counter,
  Exemplar,
  ExpositionFormat,
  Family,
  Gauge,
  Histogram,
  HistogramSample,
  Labels,
  Reading,
  Sample,
  TracedBy,
} from './metrics.ts';
export type { ProbedService } from './probe.ts';
export type { RunningService, Service, ServiceContext } from './run-service.ts';
export type { RollingState, SupervisorState } from './state-file.ts';
export type { Supervisor, SupervisorOptions } from './supervisor.ts';
export type { TracedJob } from './traced-job.ts';
