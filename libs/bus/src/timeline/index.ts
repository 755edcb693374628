export { eventAt } from './event-at.ts';
export { eventsOfJob } from './job-events.ts';
export { isPosition, lowestOf, messagesBehind, Reached } from './position.ts';
export type { Wanted } from './read-message.ts';
export { endOf } from './start.ts';
export type { BusEvent, TimelineOptions, TimelineSide } from './timeline.ts';
export { BUS_KINDS, Timeline } from './timeline.ts';
