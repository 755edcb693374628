export type { CommandOptions } from './commands.ts';
export {
  commandEventsQuery,
  commandOptionsSchema,
  commandReplySchema,
  commandRequestSchema,
  jidParams,
  traceSchema,
} from './commands.ts';
export type { EventShown } from './events.ts';
export { eventParams, eventQuery, eventSchema, eventsQuery, eventsSchema } from './events.ts';
export type { KeyActed, KeyShown, KeysPage } from './keys.ts';
export { keyActedSchema, keyActSchema, keysQuery, keysSchema } from './keys.ts';
export type { Me, Right } from './me.ts';
export { meSchema } from './me.ts';
export type { MinionDetail, MinionShown, MinionsPage } from './minions.ts';
export {
  grainsSchema,
  LISTED_GRAINS,
  minionDetailSchema,
  minionParams,
  minionsQuery,
  minionsSchema,
} from './minions.ts';
export { nothingSchema } from './nothing.ts';
export type { Overview } from './overview.ts';
export { overviewSchema } from './overview.ts';
export { cursorSchema, noQuery, pageParts, pageQuery, positionSchema } from './pages.ts';
export type { Problem, ProblemCode } from './problems.ts';
export { PROBLEMS, problemSchema } from './problems.ts';
export type { SessionShown } from './session.ts';
export { anyLogInSchema, logInsSchema, sessionSchema } from './session.ts';
export { streamMessages, streamQuery, streamSchema } from './stream.ts';
export type { Resolved } from './targets.ts';
export { resolvedSchema, targetSchema } from './targets.ts';
export { timeSchema, timeText } from './times.ts';
