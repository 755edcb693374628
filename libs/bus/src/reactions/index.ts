export type { NewReaction, Reaction, ReactionPlace } from './reaction.ts';
export { dueReactionId, eventReactionId, REACTION_MAX_BYTES, REACTION_PLACES } from './reaction.ts';
export type { QueuedAs } from './reaction-queue.ts';
export { ReactionQueue, reactionsWaiting } from './reaction-queue.ts';
export type { QueuedReaction } from './reaction-reader.ts';
export { ReactionReader } from './reaction-reader.ts';
