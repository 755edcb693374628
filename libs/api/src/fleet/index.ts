export type { DriftPage, DriftQuery, DriftShown } from './drift.ts';
export { driftPageSchema, driftQuery } from './drift.ts';
export type { KeyAct, KeyActed, KeyShown, KeysPage } from './keys.ts';
export { keyActedSchema, keyActSchema, keysQuery, keysSchema } from './keys.ts';
export type { MinionJobsPage, MinionPart } from './minion-parts.ts';
export {
  minionJobsPageSchema,
  minionJobsQuery,
  minionPartSchema,
  pillarQuery,
} from './minion-parts.ts';
export type {
  Grains,
  MinionDetail,
  MinionsFilter,
  MinionShown,
  MinionsPage,
  MinionsQuery,
} from './minions.ts';
export {
  grainsSchema,
  LISTED_GRAINS,
  minionDetailSchema,
  minionParams,
  minionsFilter,
  minionsQuery,
  minionsSchema,
} from './minions.ts';
export type { Overview } from './overview.ts';
export { overviewSchema } from './overview.ts';
