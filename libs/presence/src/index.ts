export { ConnectionBoard } from './connection-board.ts';
export { HeardBoard } from './heard-board.ts';
export { claimIn, placeOf, plainAddress } from './place.ts';
export type { PresenceChanges } from './presence.ts';
export { Presence } from './presence.ts';
export type { SavedMinion } from './saved.ts';
export { packMinions, readMinions, SHARDS } from './saved.ts';
export type { PublisherWord } from './words.ts';
export { packHeard, packWord, readHeard, readWord } from './words.ts';
