export { kindsOf } from './arguments.ts';
export { UsageError } from './read-options.ts';
export { drawChaos, spreadOf } from './draw-chaos.ts';
export { FAULT_KINDS, nameOf } from './plan.ts';
export { CHAOS_PREFIX, NoInstallation, planForStaging, runOnStaging } from './staging.ts';

export type { ChaosReport, DoneFault } from './run-chaos.ts';
export type { FaultKind } from './plan.ts';
export type { Recovery } from './recovery.ts';
export type { StagingOptions } from './staging.ts';
