import type { Nodegroups } from '@brine/target';
import type { SaltMap, SaltValue } from '@brine/wire';
import { readCommand } from './command.ts';
import { readFileTree } from './file-tree.ts';

/** For whom an external pillar is asked. */
export interface ExternalMinion {
  readonly id: string;
  readonly grains: SaltMap;
  readonly pillarenv: string | null;
}

/** What external pillars work with beside their arguments. */
export interface ExternalSettings {
  /** Directories by environment, for a relative `root_dir`. */
  readonly pillarRoots: Readonly<Record<string, readonly string[]>>;
  readonly nodegroups: Nodegroups;
  readonly log: (level: 'critical' | 'error', text: string) => void;
}

/**
 * Asks one of the external pillars that answer at once: `cmd_yaml`, `cmd_json`, `file_tree`
 * (Salt: salt/pillar/<name>.py). Undefined where there is none of this name.
 * @throws Error with what went wrong, for `_errors`
 */
export function askExternal(
  name: string,
  minion: ExternalMinion,
  args: SaltValue,
  settings: ExternalSettings,
): SaltValue | undefined {
  switch (name) {
    case 'cmd_yaml':
      return readCommand('yaml', minion.id, args, settings);
    case 'cmd_json':
      return readCommand('json', minion.id, args, settings);
    case 'file_tree':
      return readFileTree(minion, args, settings);
    default:
      return undefined;
  }
}
