export { CommitWatch, tellCommitted } from './commit-notice.ts';
export { EventMessage, EventReader } from './event-reader.ts';
export { EventWriter } from './event-writer.ts';
