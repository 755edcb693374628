export type { EngineSpec } from './engine-list.ts';
export { BUILTIN_ENGINES, readEngines } from './engine-list.ts';
export { plainOf, saltMap, saltOf } from './plain.ts';
export type { EngineStatus } from './supervise/engine-status.ts';
export { refusedStatus } from './supervise/engine-status.ts';
export type { EngineFeed, EnginePorts, EngineRecord, RecordKeeper } from './supervise/ports.ts';
export { SupervisedEngine } from './supervise/supervised-engine.ts';
