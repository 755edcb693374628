import type { ConfigMap, ConfigValue } from './option.ts';

/** How far Brine does what an option of Salt asks for. */
export interface Standing {
  /**
   * `stops`: work or protection would be lost, so a master does not start; `ignored`: something
   * smaller is lost; `partly`: some of it is done; `harmless`: nothing is lost without it.
   */
  readonly kind: 'stops' | 'ignored' | 'partly' | 'harmless';
  /** Salt's default: it asks for nothing. Neither do an empty value and none. */
  readonly preset: ConfigValue;
  /** What is lost, or how to have the same. */
  readonly text: string;
  /**
   * Which parts of the value are lost, by name; undefined: the whole of it. `values` are the
   * options beside it. No parts: it is in force.
   */
  readonly lost?: (value: ConfigValue, values: ConfigMap) => readonly string[] | undefined;
  /** What is lost with one part, where parts differ in that; each is a line of its own then. */
  readonly of?: (
    part: string,
    value: ConfigValue,
    values: ConfigMap,
  ) => Partial<Pick<Standing, 'kind' | 'text'>>;
  /** True where commands such as `brine salt` read it, not the services: they tell of it too. */
  readonly ofCommands?: true;
}

/** Standings by the names that the options have in the file. */
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

/** A standing of an option that changes nothing that anyone could see. */
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
