export type { Reaction } from './reaction.ts';
export { dueReactionId, eventReactionId, REACTION_MAX_BYTES } from './reaction.ts';
export { ReactionQueue, reactionsWaiting } from './reaction-queue.ts';
export type { QueuedReaction } from './reaction-reader.ts';
export { ReactionReader } from './reaction-reader.ts';
