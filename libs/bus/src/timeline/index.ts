export { eventsOfJob } from './job-events.ts';
export { isPosition } from './position.ts';
export type { Wanted } from './read-message.ts';
export type { BusEvent, TimelineOptions } from './timeline.ts';
export { BUS_KINDS, Timeline } from './timeline.ts';
