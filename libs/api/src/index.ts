export type { CommandOptions } from './commands.ts';
export {
  commandEventSchema,
  commandEventsQuery,
  commandOptionsSchema,
  commandReplySchema,
  commandRequestSchema,
} from './commands.ts';
export type { Events, EventShown, EventsQuery } from './events.ts';
export { eventParams, eventQuery, eventSchema, eventsQuery, eventsSchema } from './events.ts';
export type { Me, Right } from './me.ts';
export { meSchema } from './me.ts';
export { nothingSchema } from './nothing.ts';
export { noQuery } from './pages.ts';
export type { Problem, ProblemCode } from './problems.ts';
export { PROBLEMS, problemSchema } from './problems.ts';
export type { SessionShown } from './session.ts';
export { anyLogInSchema, logInsSchema, sessionSchema } from './session.ts';
export type { StreamData } from './stream.ts';
export { streamMessages, streamQuery, streamSchema } from './stream.ts';
export type { Resolved } from './targets.ts';
export { resolvedSchema, targetSchema } from './targets.ts';
export { timeText } from './times.ts';
