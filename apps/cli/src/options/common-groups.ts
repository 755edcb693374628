import { SALT_RELEASE } from '@brine/wire';
import {
  type CommandForm,
  flag,
  type Option,
  type OptionGroup,
  text,
  withoutEffect,
} from './command-form.ts';

/** The version of this program. */
export const BRINE_VERSION = '0.2.0';

/** The release whose texts and rules the commands follow, with the name of its line. */
export const SALT_VERSION = `${SALT_RELEASE} (Argon)`;

/** Advice where Salt would read a Saltfile. */
export const GIVE_OPTIONS = 'give the options themselves';

/** `--version`, `--help` and `-c`, which every command has. */
export const BASE_OPTIONS: readonly Option[] = [
  { names: ['--version'], dest: 'version', kind: 'version', help: 'Show the version and exit.' },
  {
    names: ['-V', '--versions-report'],
    dest: 'versions_report',
    kind: 'report',
    help: 'Show the versions of Brine and its parts and exit.',
  },
  { names: ['-h', '--help'], dest: 'help', kind: 'help', help: 'Show this page and exit.' },
  text(['-c', '--config-dir'], 'config_dir', 'Directory of the configuration file.'),
  flag(['--hard-crash'], 'hard_crash', 'Show the stack of an unexpected error.'),
  withoutEffect(text(['--saltfile'], 'saltfile', ''), GIVE_OPTIONS),
];

/** The form of a command that Salt does not have. */
export function brineForm(
  command: string,
  description: string,
  own: readonly Option[] = [],
  usage = '[options]',
): CommandForm {
  return {
    prog: `brine ${command}`,
    usage,
    description,
    version: BRINE_VERSION,
    groups: [{ title: 'Options', options: [...BASE_OPTIONS, ...own] }],
  };
}

/** `-t`. */
export function timeoutOption(seconds: number): Option {
  return {
    names: ['-t', '--timeout'],
    dest: 'timeout',
    kind: 'int',
    default: seconds,
    help: 'Seconds to wait for returns before asking who still runs the job.',
  };
}

// The order in which Salt lists them in its error text (Salt: salt/_logging/impl.py LOG_LEVELS).
const LOG_LEVELS = [
  'all',
  'debug',
  'error',
  'critical',
  'garbage',
  'info',
  'profile',
  'quiet',
  'trace',
  'warning',
];
// Salt: salt/_logging/impl.py SORTED_LEVEL_NAMES.
const SORTED_LOG_LEVELS = [
  'all',
  'garbage',
  'trace',
  'debug',
  'profile',
  'info',
  'warning',
  'error',
  'critical',
  'quiet',
];

/**
 * Logging options. `-l` means something else to salt-key. Only daemons have a log file: other
 * commands write to stderr.
 */
export function loggingGroup(short: boolean, ofDaemon = false): OptionGroup {
  const file = (option: Option): Option =>
    ofDaemon ? option : withoutEffect(option, 'this command logs to stderr');
  return {
    title: 'Logging Options',
    options: [
      {
        names: short ? ['-l', '--log-level'] : ['--log-level'],
        dest: 'log_level',
        kind: 'choice',
        choices: LOG_LEVELS,
        help: 'Lowest level of log lines on the terminal.',
      },
      file(text(['--log-file'], 'log_file', 'Log file.')),
      file({
        names: ['--log-file-level'],
        dest: 'log_level_logfile',
        kind: 'choice',
        choices: SORTED_LOG_LEVELS,
        help: 'Lowest level of lines in the log file.',
      }),
    ],
  };
}

/** Options for showing results. */
export function outputGroup(extra: readonly Option[] = []): OptionGroup {
  const state = ['full', 'terse', 'mixed', 'changes', 'filter'].join(', ');
  return {
    title: 'Output Options',
    options: [
      ...extra,
      text(['--out', '--output'], 'output', 'Outputter: nested, json, yaml, txt, raw, …'),
      {
        names: ['--out-indent', '--output-indent'],
        dest: 'output_indent',
        kind: 'int',
        help: 'Spaces per level; negative: all in one line.',
      },
      text(['--out-file', '--output-file'], 'output_file', 'Write the results to this file.'),
      flag(['--out-file-append', '--output-file-append'], 'output_file_append', 'Keep the file.'),
      flag(['--no-color', '--no-colour'], 'no_color', 'No colours.'),
      flag(['--force-color', '--force-colour'], 'force_color', 'Colours also in a pipe.'),
      text(['--state-output', '--state_output'], 'state_output', `One of ${state}.`),
      text(['--state-verbose', '--state_verbose'], 'state_verbose', 'Also unchanged states.'),
    ],
  };
}

/** External authentication; `-a` means something else to salt-key. */
export function eauthGroup(short: boolean): OptionGroup {
  const names = ['--auth', '--eauth', '--external-auth'];
  return {
    title: 'External Authentication',
    options: [
      text(short ? ['-a', ...names] : names, 'eauth', 'System to log in with.', ''),
      flag(['-T', '--make-token'], 'mktoken', 'Log in by a token.'),
      text(['--username'], 'username', 'Name to log in with.'),
      text(['--password'], 'password', 'Password to log in with.'),
    ],
  };
}

/** `--no-parse`. */
export const NO_PARSE: Option = {
  names: ['--no-parse'],
  dest: 'no_parse',
  kind: 'text',
  default: '',
  metavar: 'argname1,argname2,...',
  help: 'Keywords with a value that is not read as YAML.',
};

/** `--args-stdin` and `--no-parse`. */
export const ARGUMENT_OPTIONS: readonly Option[] = [
  flag(['--args-stdin'], 'args_stdin', 'Read further options and arguments from stdin.'),
  NO_PARSE,
];
