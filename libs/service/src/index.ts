export { parseServiceArguments } from './arguments.ts';
export { Backoff } from './processes/backoff.ts';
export { claimHost, HostTakenError } from './processes/claim-host.ts';
export { startHealth } from './health.ts';
export { heldPort, heldSocket } from './processes/held-ports.ts';
export { asideTeller } from './logs/aside-teller.ts';
export { addConnectionMetrics } from './metrics/connection-metrics.ts';
export { keepInspectorShut } from './inspector.ts';
export { LogFormatError } from './logs/log-format.ts';
export { partLevel } from './logs/log-levels.ts';
export { openLogOutput } from './logs/log-output.ts';
export { logOptions } from './logs/option-lines.ts';
export { MASTER_SERVICES, masterServices } from './processes/master-services.ts';
export { startJoinedMetrics } from './metrics/joined-metrics.ts';
export { Metrics, MILLISECOND_BUCKETS } from './metrics/metrics.ts';
export { probeService } from './probe.ts';
export { refusedAsRoot } from './process-user.ts';
export { EXIT_CONFIG, runService } from './run-service.ts';
export { onStopSignal } from './stop-signals.ts';
export { livingSupervisor, readState, stateFile, writePidfile } from './processes/state-file.ts';
export { superviseServices } from './processes/supervisor.ts';
export { tagPrefixCounter } from './metrics/tag-prefixes.ts';
export { tracedJobs } from './metrics/traced-job.ts';

export type { ReplaceTimes, ServiceState } from './processes/child-service.ts';
export type { ServiceSpec } from './processes/service-process.ts';
export type { ClaimedHost, HostClaim } from './processes/claim-host.ts';
export type { DebugSignal } from './inspector.ts';
export type { HealthServer, HealthSource } from './health.ts';
export type { LogSource } from './logs/log-lines.ts';
export type { LogOutput, LogOutputOptions } from './logs/log-output.ts';
export type { MasterServiceName, MasterServicesSettings } from './processes/master-services.ts';
export type {
  Counter,
  Exemplar,
  ExpositionFormat,
  Gauge,
  Histogram,
  Labels,
  Reading,
  TracedBy,
} from './metrics/metrics.ts';
export type { Family, HistogramSample, Sample } from './metrics/metric-series.ts';
export type { ProbedService } from './probe.ts';
export type { RunningService, Service, ServiceContext } from './run-service.ts';
export type { RollingState, SupervisorState } from './processes/state-file.ts';
export type { Supervisor, SupervisorOptions } from './processes/supervisor.ts';
export type { TracedJob } from './metrics/traced-job.ts';
