export type { Feeds } from './feeds.ts';
export { hostToken, startFeeds } from './feeds.ts';
export type { EventDoor, Passed } from './local-events.ts';
export { LocalEvents } from './local-events.ts';
export type { EventForReaders, ReaderSocket } from './readers.ts';
export { Readers } from './readers.ts';
