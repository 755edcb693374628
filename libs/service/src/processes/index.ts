export { boundPort, boundSocket } from './bound-ports.ts';
export type { ServiceState } from './child-service.ts';
export type { ClaimedHost } from './claim-host.ts';
export { claimHost, HostTakenError } from './claim-host.ts';
export type { MasterServiceName } from './master-services.ts';
export { MASTER_SERVICES, masterServices } from './master-services.ts';
export { programOf } from './program-of.ts';
export { serviceRestarts } from './restart-delays.ts';
export type { RollingState, SupervisorState } from './state-file.ts';
export {
  isOfOwner,
  livingSupervisor,
  readState,
  removePidfile,
  stateFile,
  writePidfile,
} from './state-file.ts';
export type { ServiceDump, Supervisor } from './supervisor.ts';
export { superviseServices } from './supervisor.ts';
export { isListenedOn, whoListens } from './who-listens.ts';
