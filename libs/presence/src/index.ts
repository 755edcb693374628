export { claimIn, placeOf, plainAddress } from './address.ts';
export { ConnectionBoard } from './connection-board.ts';
export type { PresenceChanges } from './presence.ts';
export { Presence } from './presence.ts';
export { HeardBoard } from './proof-board.ts';
export type { PublisherWord } from './reports.ts';
export { packHeard, packWord, readHeard, readWord } from './reports.ts';
export type { SavedMinion } from './saved.ts';
export { packMinions, readMinions, SHARDS } from './saved.ts';
