export { eventAt } from './event-at.ts';
export { eventsOfJob } from './job-events.ts';
export { isPosition, Reached } from './position.ts';
export type { Wanted } from './read-message.ts';
export type { BusEvent, TimelineOptions, TimelineSide } from './timeline.ts';
export { BUS_KINDS, Timeline } from './timeline.ts';
