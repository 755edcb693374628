export { announceCommits, CommitWatch } from './commit-notice.ts';
export type { UnreadEvents } from './event-reader.ts';
export { EventMessage, EventReader } from './event-reader.ts';
export { EventWriter } from './event-writer.ts';
