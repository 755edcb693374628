import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from '@brine/client';
import { type CommandForm, flag, type ParsedOptions } from '../options/command-form.ts';
import {
  BASE_OPTIONS,
  loggingGroup,
  outputGroup,
  SALT_VERSION,
  timeoutOption,
} from '../options/common-groups.ts';
import type { OptionParser } from '../options/option-parser.ts';
import { TARGET_OPTIONS, targetOf } from '../salt/salt-options.ts';
import type { Terminal } from '../terminal.ts';

/** The `salt-cp` command (Salt: salt/utils/parsers.py SaltCPOptionParser). */
export const COPY_FORM: CommandForm = {
  prog: 'salt-cp',
  usage: "[options] '<target>' SOURCE DEST",
  description: 'Copies files of this host to minions.',
  version: SALT_VERSION,
  groups: [
    { title: 'Options', options: [...BASE_OPTIONS, timeoutOption(5)] },
    loggingGroup(true),
    { title: 'Target Options', options: TARGET_OPTIONS },
    outputGroup(),
    {
      title: 'File Options',
      options: [
        flag(['-C', '--chunked'], 'chunked', 'In pieces: large files, whole directories.'),
        {
          names: ['-n', '--no-compression'],
          dest: 'gzip',
          kind: 'off',
          default: true,
          help: 'Send the pieces of -C as they are.',
        },
      ],
    },
  ],
};

/** Sources, target and destination of a copy. */
export interface CopyCommand {
  readonly target: Pick<Command, 'tgt' | 'tgtType'>;
  /** Absolute, links followed. */
  readonly sources: readonly string[];
  /** A path on the minions, which may be Windows. */
  readonly dest: string;
}

/**
 * Reads target, sources and destination.
 * @throws Exit 64 with fewer than three arguments; Salt accepts two and then copies nothing
 */
export function readCopy(
  options: ParsedOptions,
  parser: OptionParser,
  terminal: Terminal,
): CopyCommand {
  const [target, ...rest] = options.args;
  const dest = rest.pop();
  if (target === undefined || dest === undefined || rest.length === 0) {
    terminal.out(parser.help());
    throw parser.error('Insufficient arguments');
  }
  return { target: targetOf(target, options), sources: rest.map(followed), dest };
}

/** Python's os.path.realpath, which also accepts missing paths. */
function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Missing: reported when it is read.
    return resolve(path);
  }
}
