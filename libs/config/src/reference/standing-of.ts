import { masterOptions } from '../options/master.ts';
import { masterStandings } from '../standings/master.ts';

/** How far an option of Salt's master is in force, and the reason. */
export interface OptionStanding {
  readonly state: 'honoured' | 'partly' | 'not in force' | 'not needed' | 'unknown';
  /** The reason, or the alternative; empty if it is honoured. */
  readonly reason: string;
  /** True if a master refuses to start with it, unless `brine.accept_ignored` names it. */
  readonly stops: boolean;
}

/** The standing of an option by its name in the file, for any value. */
export function standingOf(name: string): OptionStanding {
  const standing = Object.hasOwn(masterStandings, name) ? masterStandings[name] : undefined;
  if (standing === undefined) {
    const isRead = Object.hasOwn(masterOptions, name);
    return { state: isRead ? 'honoured' : 'unknown', reason: '', stops: false };
  }
  const { kind, text, lost } = standing;
  const stops = kind === 'stops';
  if (kind === 'harmless') return { state: 'not needed', reason: text, stops };
  // If only some values are lost, the others are in force.
  const isPart = kind === 'partly' || lost !== undefined;
  return { state: isPart ? 'partly' : 'not in force', reason: text, stops };
}
