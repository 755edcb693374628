import type { ConfigMap, ConfigValue } from './option.ts';

/** How far an option of Salt is in force in Brine. */
export interface Standing {
  /**
   * `stops`: work or protection would be lost, so a master does not start; `ignored`: a smaller
   * loss; `partly`: in force in part; `harmless`: nothing is lost.
   */
  readonly kind: 'stops' | 'ignored' | 'partly' | 'harmless';
  /** Salt's default, which asks for nothing, as an empty or missing value. */
  readonly preset: ConfigValue;
  /** The loss, or the alternative. */
  readonly text: string;
  /**
   * Names of the lost parts of the value; undefined: the whole value; empty: none, it is in force.
   * `values` are all options.
   */
  readonly lost?: (value: ConfigValue, values: ConfigMap) => readonly string[] | undefined;
  /** The loss for one part, if parts differ; each part then has its own line. */
  readonly of?: (
    part: string,
    value: ConfigValue,
    values: ConfigMap,
  ) => Partial<Pick<Standing, 'kind' | 'text'>>;
  /** True if commands such as `brine salt` read it instead of services: they warn of it too. */
  readonly ofCommands?: true;
}

/** Standings by the names of options in the file. */
export type StandingTable = Readonly<Record<string, Standing>>;

type More = Pick<Standing, 'lost' | 'of' | 'ofCommands'>;

/** A standing of an option whose absence loses work or protection. */
export function stops(preset: ConfigValue, text: string, more: More = {}): Standing {
  return { kind: 'stops', preset, text, ...more };
}

/** A standing of an option without effect. */
export function ignored(preset: ConfigValue, text: string, more: More = {}): Standing {
  return { kind: 'ignored', preset, text, ...more };
}

/** A standing of an option that is in force in part. */
export function partly(preset: ConfigValue, text: string, more: More = {}): Standing {
  return { kind: 'partly', preset, text, ...more };
}

/** A standing of an option without visible effect. */
export function harmless(preset: ConfigValue, text: string): Standing {
  return { kind: 'harmless', preset, text };
}

/** The same standing for several options, each with its own preset. */
export function alike(
  presets: Readonly<Record<string, ConfigValue>>,
  standing: (preset: ConfigValue) => Standing,
): StandingTable {
  return Object.fromEntries(Object.entries(presets).map(([name, one]) => [name, standing(one)]));
}
