export { CommitWatch, tellCommitted } from './commit-notice.ts';
export { EventReader } from './event-reader.ts';
export type { EventToAppend } from './event-writer.ts';
export { EventWriter } from './event-writer.ts';
export { StoredEvent } from './stored-event.ts';
