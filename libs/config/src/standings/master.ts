import type { StandingTable } from '../standing.ts';
import { dataStandings } from './data.ts';
import { eventStandings } from './events.ts';
import { moduleStandings } from './modules.ts';
import { processStandings } from './process.ts';
import { scheduleAndEngineStandings } from './schedule-and-engines.ts';
import { securityStandings } from './security.ts';

/**
 * The options of a Salt master (3006 to 3008) that are not, or not wholly, in force. Other options
 * of `masterOptions` are in force. A test compares both with the recorded names of Salt.
 */
export const masterStandings: StandingTable = {
  ...eventStandings,
  ...scheduleAndEngineStandings,
  ...securityStandings,
  ...moduleStandings,
  ...dataStandings,
  ...processStandings,
};
