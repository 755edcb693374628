import type { Command } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { type Printer } from '../display-settings.ts';
import type { MasterLink } from '../master-link.ts';
import type { ParsedOptions } from '../options/option.ts';
import type { Terminal } from '../terminal.ts';

/** Everything one run of `salt` works with. */
export interface SaltRun {
  readonly options: ParsedOptions;
  readonly config: MasterOptions;
  readonly terminal: Terminal;
  readonly printer: Printer;
  readonly link: MasterLink;
  readonly command: Command;
}
