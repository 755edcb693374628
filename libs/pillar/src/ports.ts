import type { Outside, PyFunction } from '@brine/jinja';
import type { Nodegroups } from '@brine/target';
import type { SaltMap, SaltValue } from '@brine/wire';

/** The files of `pillar_roots`, as one request sees them. */
export interface PillarFiles {
  /** Environments that have directories. */
  readonly environments: readonly string[];
  /** The text of a file below the roots of an environment; undefined where there is none. */
  read(saltenv: string, path: string): string | undefined;
  /** The absolute path of a file, as `read` finds it; absent where files are not on disk. */
  place?(saltenv: string, path: string): string | undefined;
  /** Paths of all files of an environment, sorted. */
  list(saltenv: string): readonly string[];
}

/** What the pillar needs from outside. */
export interface PillarPorts {
  readonly files: PillarFiles;
  readonly outside: Pick<Outside, 'now' | 'random' | 'filters'>;
  /** Functions for `salt['…']`. */
  functions(minion: PillarMinion): ReadonlyMap<string, PyFunction>;
  /** Decrypts the messages in a value by gpg, except those that must not be opened. */
  decrypt(value: SaltValue, mayOpen: (message: string) => boolean): SaltValue;
  /**
   * Computes an external pillar; undefined for an unknown name. Throws if it fails.
   */
  external(
    name: string,
    minion: PillarMinion,
    pillar: SaltMap,
    args: SaltValue,
  ): SaltValue | undefined;
  /** Modules in Python; absent where the master has none. */
  readonly python?: PythonModules | undefined;
  /** A line for the master's log. */
  log(level: 'critical' | 'error' | 'warning', text: string): void;
}

/** One step of a pipe of renderers. */
export interface RenderStep {
  readonly name: string;
  /** What stands behind the name in the first line of the file. */
  readonly argline: string;
  /** The file, as an absolute path. */
  readonly file: string;
  readonly saltenv: string;
  readonly sls: string;
  readonly defaults: SaltMap;
  /** The text of the file, or what the step before made. */
  readonly input: SaltValue;
}

/** What the modules of the site's Salt do for one pillar (`brine.python`). */
export interface PythonModules {
  /** Whether Salt has an execution function `module.name`. */
  knows(fun: string, pillar: SaltMap): boolean;
  /** Calls it. @throws Error with a field `python`, the class of the exception there */
  call(fun: string, args: readonly SaltValue[], kwargs: SaltMap, pillar: SaltMap): SaltValue;
  /** Makes a step; undefined if Salt has no such renderer. @throws Error with Salt's text */
  render(step: RenderStep, pillar: SaltMap): SaltValue | undefined;
}

/** The minion that a pillar is for. */
export interface PillarMinion {
  readonly id: string;
  readonly grains: SaltMap;
  readonly saltenv: string | null;
  readonly pillarenv: string | null;
  /** From the command line (`pillar={…}`). */
  readonly override: SaltMap;
  /** External pillars that the minion asks for by itself. */
  readonly ext: SaltMap | null;
}

/** The master's options for the pillar; Salt's names in camel case. */
export interface PillarOptions {
  readonly renderer: string;
  /** Renderers that are left out of the pipes of files, and those that alone stay; empty: all. */
  readonly rendererBlacklist: readonly string[];
  readonly rendererWhitelist: readonly string[];
  readonly stateTop: string;
  readonly mergingStrategy: string;
  readonly mergeLists: boolean;
  readonly includesOverrideSls: boolean;
  readonly safeRenderError: boolean;
  readonly pillarOpts: boolean;
  readonly pillarenv: string | null;
  readonly pillarenvFromSaltenv: boolean;
  readonly envOrder: readonly string[];
  readonly extPillarFirst: boolean;
  readonly extPillar: SaltValue;
  readonly excludeExtPillar: readonly string[];
  readonly onDemandExtPillar: readonly string[];
  /** `decrypt_pillar`: keys with their renderers. */
  readonly decrypt: {
    readonly keys: readonly (readonly [key: string, renderer: string])[];
    readonly delimiter: string;
    readonly renderers: readonly string[];
  };
  /** What `pillar_opts` names as `saltversion`. */
  readonly saltVersion: string;
  readonly nodegroups: Nodegroups;
  readonly trimBlocks: boolean;
  readonly lstripBlocks: boolean;
  readonly allowUndefined: boolean;
  /** The master's: templates see them as `opts`, and `pillar_opts` puts them into the pillar. */
  readonly opts: SaltMap;
}
