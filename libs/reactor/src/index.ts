export { kindsFor, wantsJobs } from './event-kinds.ts';
export type { CallPlan, PlanStore } from './planned-calls.ts';
export { PlannedCalls } from './planned-calls.ts';
export type { CallToMake, FailedReaction, FailureKind, ReactionFile, ReactPorts } from './ports.ts';
export { OutageError } from './ports.ts';
export { react } from './react.ts';
export type { LocalCall, MasterCall, ReactionCall, Signature } from './reaction-call.ts';
export type { ReactorChanges } from './reactor-map.ts';
export { ReactorMap, UNCHANGED, withAdded, withRemoved } from './reactor-map.ts';
