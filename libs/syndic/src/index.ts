export type { LaneParts, LaneSettings, LaneStats } from './forward-lane.ts';
export { ForwardLane } from './forward-lane.ts';
export type { BelowSettings } from './job-below.ts';
export { askerOf, jobBelow, tokenOf } from './job-below.ts';
export type {
  Clock,
  EventToForward,
  Jobs,
  KnownJob,
  MasterAbove,
  MasterBelow,
  PublishedBelow,
  Sent,
} from './ports.ts';
export { RecentJobs } from './recent-jobs.ts';
export type { SyndicMode } from './roads.ts';
