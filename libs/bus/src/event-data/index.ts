export { eventData } from './event-data.ts';
