import type { SaltValue } from '@brine/wire';
import { readCommand } from './command.ts';
import { readFileTree } from './file-tree.ts';
import { readNodegroups } from './nodegroups.ts';
import type { ExternalMinion, ExternalSettings } from './source-settings.ts';

/**
 * Computes one of the external pillars that answer at once: `cmd_yaml`, `cmd_json`, `file_tree`,
 * `nodegroups` (Salt: salt/pillar/<name>.py). Undefined for an unknown name.
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
    case 'nodegroups':
      return readNodegroups(minion, args, settings);
    default:
      return undefined;
  }
}
