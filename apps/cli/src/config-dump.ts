import { displayOf } from '@brine/client';
import { type MasterOptions, optionsByName } from '@brine/config';

/** `--config-dump`: the options as YAML, by the names they have in the file. */
export function dumpConfig(config: MasterOptions): string {
  return `${displayOf(optionsByName(config), 'yaml', { color: false }).text}\n`;
}
