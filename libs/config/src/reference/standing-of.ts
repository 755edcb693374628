import { masterOptions } from '../options/master.ts';
import { masterStandings } from '../standings/master.ts';

/** How far an option of Salt's master is in force, in a word and with the reason. */
export interface OptionStanding {
  readonly state: 'honoured' | 'partly' | 'not in force' | 'not needed' | 'unknown';
  /** Why, or what to do instead; empty where it is honoured. */
  readonly reason: string;
  /** True where a master does not start with it, unless `brine.accept_ignored` names it. */
  readonly stops: boolean;
}

/** The standing of an option by its name in the file, whatever its value is. */
export function standingOf(name: string): OptionStanding {
  const standing = Object.hasOwn(masterStandings, name) ? masterStandings[name] : undefined;
  if (standing === undefined) {
    const isRead = Object.hasOwn(masterOptions, name);
    return { state: isRead ? 'honoured' : 'unknown', reason: '', stops: false };
  }
  const { kind, text, lost } = standing;
  const stops = kind === 'stops';
  if (kind === 'harmless') return { state: 'not needed', reason: text, stops };
  // Where only some values are lost, the others are in force.
  const isPart = kind === 'partly' || lost !== undefined;
  return { state: isPart ? 'partly' : 'not in force', reason: text, stops };
}
