export { claimIn, placeOf, plainAddress } from './address.ts';
export { ConnectionBoard } from './connection-board.ts';
export type { PresenceChanges } from './minions.ts';
export { Presence } from './presence.ts';
export { ProofBoard } from './proof-board.ts';
export type { PublisherReport } from './reports.ts';
export { packProofs, packReport, readProofs, readReport } from './reports.ts';
export type { SavedMinion } from './saved.ts';
export { packMinions, readMinions, SHARDS } from './saved.ts';
