import type { StandingTable } from '../standing.ts';
import { dataStandings } from './data.ts';
import { eventStandings } from './events.ts';
import { moduleStandings } from './modules.ts';
import { processStandings } from './process.ts';
import { scheduleAndEngineStandings } from './schedule-and-engines.ts';
import { securityStandings } from './security.ts';

/**
 * The options of a Salt master (3006 to 3008) that are not, or not wholly, in force. An option of
 * `masterOptions` that is not here is in force; a test holds both to the recorded names of Salt.
 */
export const masterStandings: StandingTable = {
  ...eventStandings,
  ...scheduleAndEngineStandings,
  ...securityStandings,
  ...moduleStandings,
  ...dataStandings,
  ...processStandings,
};
