export type { Due, DueSettings, Skipped } from './due.ts';
export { beginState, isEnabled, latenessOf, nextDue, SAVE_MS, stepSchedule } from './due.ts';
export type { Schedule, ScheduledJob, ScheduleFault } from './job.ts';
export { readSchedule } from './read-schedule.ts';
export type { Asked, AskedOfJob, JobState, ScheduleState } from './state.ts';
export { ASKED_MAX, askedMap, NOTHING_ASKED, readAsked, readState, stateMap } from './state.ts';
export { FormatError, parseByFormat, writeByFormat } from './strptime.ts';
export type { Zone } from './zone.ts';
export { momentOf, wallOf } from './zone.ts';
