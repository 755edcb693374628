import {
  type Command,
  CompoundCommandError,
  parseArguments,
  parseCompound,
  yamlArgument,
} from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { EXIT, Exit } from '../exit-codes.ts';
import {
  type CommandForm,
  flag,
  isOn,
  type Option,
  type ParsedOptions,
  text,
  textValue,
} from '../options/command-form.ts';
import {
  ARGUMENT_OPTIONS,
  BASE_OPTIONS,
  eauthGroup,
  loggingGroup,
  outputGroup,
  SALT_VERSION,
  timeoutOption,
} from '../options/common-groups.ts';
import type { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

/** The kinds of targets of `salt` and `salt-cp`. */
export const TARGET_OPTIONS: readonly Option[] = [
  flag(['-H', '--hosts'], 'list_hosts', 'For salt-ssh only.'),
  flag(['-E', '--pcre'], 'pcre', 'The target is a regular expression.'),
  flag(['-L', '--list'], 'list', 'The target is a list of ids, by comma or space.'),
  flag(['-G', '--grain'], 'grain', 'The target is a grain and a glob, as os:Debian.'),
  flag(['-P', '--grain-pcre'], 'grain_pcre', 'The target is a grain and an expression.'),
  flag(['-N', '--nodegroup'], 'nodegroup', 'The target is a node group.'),
  flag(['-R', '--range'], 'range', 'The target is a range expression.'),
  {
    names: ['--delimiter'],
    dest: 'delimiter',
    kind: 'text',
    default: ':',
    help: 'Stands between the parts of a grain or pillar target.',
  },
  flag(['-C', '--compound'], 'compound', 'The target joins several kinds by and, or, not.'),
  flag(['-I', '--pillar'], 'pillar', 'The target is a pillar value and a glob.'),
  flag(['-J', '--pillar-pcre'], 'pillar_pcre', 'The target is a pillar value and an expression.'),
  flag(['-S', '--ipcidr'], 'ipcidr', 'The target is an address or a subnet.'),
];

// In the order in which Salt names them in its error text.
const TARGET_KINDS: readonly string[] = [
  'pcre',
  'list',
  'grain',
  'grain_pcre',
  'nodegroup',
  'range',
  'compound',
  'pillar',
  'pillar_pcre',
  'ipcidr',
];

const RUN_OPTIONS: readonly Option[] = [
  ...BASE_OPTIONS,
  timeoutOption(5),
  flag(['-s', '--static'], 'static', 'Show all returns at once, after the last.'),
  flag(['-p', '--progress'], 'progress', 'Show only how many have returned, on a terminal.'),
  flag(['--failhard'], 'failhard', 'Stop a batch after the first bad return.'),
  flag(['--async'], 'async', 'Do not wait for returns.'),
  {
    names: ['--subset'],
    dest: 'subset',
    kind: 'int',
    default: 0,
    help: 'Run on this number of targeted minions, chosen at random.',
  },
  flag(['-v', '--verbose'], 'verbose', 'Show the job id and more in the summary.'),
  {
    names: ['--hide-timeout'],
    dest: 'show_timeout',
    kind: 'off',
    default: true,
    help: 'Without effect, as in Salt 3008.',
  },
  flag(['--show-jid'], 'show_jid', 'Show the job id.'),
  text(['-b', '--batch', '--batch-size'], 'batch', 'So many minions, or percent, at a time.', ''),
  {
    names: ['--batch-wait'],
    dest: 'batch_wait',
    kind: 'float',
    default: 0,
    help: 'Seconds to wait after a return before the next minion.',
  },
  {
    names: ['--batch-safe-limit'],
    dest: 'batch_safe_limit',
    kind: 'int',
    default: 0,
    help: 'Use a batch where more minions than this are targeted.',
  },
  text(['--batch-safe-size'], 'batch_safe_size', 'The size of that batch.', '8'),
  text(['--batch-canary'], 'batch_canary', 'Run a batch on this number first; all must succeed.'),
  text(['--batch-halt'], 'batch_halt', 'Stop a batch when more than this number have failed.'),
  text(['--return'], 'return', 'Returners of the minions, by comma.', ''),
  text(['--return_config'], 'return_config', 'Configuration of the returner.', ''),
  text(['--return_kwargs'], 'return_kwargs', 'Options of the returner, as YAML.', ''),
  text(['--module-executors'], 'module_executors', 'Executors, as YAML.'),
  text(['--executor-opts'], 'executor_opts', 'Options of the executors, as YAML.'),
  flag(['-d', '--doc', '--documentation'], 'doc', 'Show the documentation of functions.'),
  text(['--args-separator'], 'args_separator', 'Between arguments of several functions.', ','),
  flag(['--summary'], 'cli_summary', 'Show a summary after the returns.'),
  flag(['--why'], 'why', "Name the cause of each silence, below Salt's output (not in batches)."),
  text(['--metadata'], 'metadata', 'Kept with the job, to find it by.', ''),
  text(['--durable'], 'durable', 'Sent again for so long (15m, 2d) to minions that are away.'),
  flag(['--watch'], 'watch', 'Show the returns of a job that runs: salt --watch JID.'),
  flag(['--start-event'], 'start_event', 'Minions report when they begin.'),
  flag(['--output-diff'], 'state_output_diff', 'Show only states that changed something.'),
  flag(['--config-dump'], 'config_dump', 'Show the configuration and exit.'),
  flag(['--preview-target'], 'preview_target', 'Show who is targeted and run nothing.'),
  ...ARGUMENT_OPTIONS,
];

/** The `salt` command (Salt: salt/utils/parsers.py SaltCMDOptionParser). */
export const SALT_FORM: CommandForm = {
  prog: 'salt',
  usage: "[options] '<target>' <function> [arguments]",
  description: 'Runs a function on the minions that match the target and shows what they return.',
  version: SALT_VERSION,
  groups: [
    { title: 'Options', options: RUN_OPTIONS },
    loggingGroup(true),
    { title: 'Target Options', options: TARGET_OPTIONS },
    outputGroup(),
    eauthGroup(true),
  ],
};

/** Target, function and arguments of a command line. */
export type SaltCommand = Omit<Command, 'kwargs' | 'jid'>;

/** @throws Exit 64 if two kinds of target are given */
export function checkTargetKinds(options: ParsedOptions, parser: OptionParser): void {
  const names = parser.namesOf(TARGET_KINDS, options);
  if (names.length <= 1) return;
  throw parser.error(
    `The options ${names.join('/')} are mutually exclusive. Please only choose one of them`,
  );
}

/**
 * Reads target, function and arguments (Salt: salt/utils/parsers.py SaltCMDOptionParser).
 * @throws Exit 42 if the command line is incomplete, 64 if `-d` has too many arguments
 */
export function readCommand(
  options: ParsedOptions,
  parser: OptionParser,
  terminal: Terminal,
): SaltCommand {
  const args = [...options.args];
  const doc = isOn(options, 'doc');
  const preview = isOn(options, 'preview_target');
  if (args.length <= 1 && !doc && !preview) terminal.out(parser.help());
  if (preview) args.push('not_a_valid_command');
  if (doc) insertDoc(args, parser);
  const [target, functions, ...words] = args;
  if (target === undefined) {
    throw new Exit(EXIT.incomplete, '\nCannot execute command without defining a target.\n\n');
  }
  if (functions === undefined) {
    throw new Exit(EXIT.incomplete, '\nIncomplete options passed.\n\n');
  }
  const ret = textValue(options, 'return');
  return {
    ...targetOf(target, options),
    ...functionOf(functions, words, options),
    ...(ret === undefined ? {} : { ret }),
  };
}

/** True for commands that run in parts: `-b` and `-s`. */
export function isBatched(options: ParsedOptions): boolean {
  return isOn(options, 'static') || textValue(options, 'batch') !== undefined;
}

/**
 * The options that the master passes on in the load's `kwargs` (Salt: salt/cli/salt.py _run). A
 * batch sends none.
 * @throws Exit 64 for `--durable` with a batch.
 */
export function optionKwargs(
  options: ParsedOptions,
  config: Pick<MasterOptions, 'showJid'>,
): SaltMap {
  const durable = textValue(options, 'durable');
  if (isBatched(options)) {
    if (durable === undefined) return new Map();
    throw new Exit(EXIT.usage, 'salt: error: --durable does not go with --batch or --static\n');
  }
  const parsed = (dest: string): SaltValue | undefined => {
    const value = textValue(options, dest);
    return value === undefined ? undefined : yamlArgument(value);
  };
  return mapOf({
    show_timeout: options.values.get('show_timeout') !== false,
    show_jid: isOn(options, 'show_jid') || config.showJid,
    delimiter: textValue(options, 'delimiter') ?? ':',
    ret_config: textValue(options, 'return_config'),
    ret_kwargs: parsed('return_kwargs'),
    module_executors: parsed('module_executors'),
    executor_opts: parsed('executor_opts'),
    metadata: withDurable(parsed('metadata'), durable),
    start_event: isOn(options, 'start_event') ? true : undefined,
  });
}

/** Stock command lines can ask for the same by `--metadata '{brine_durable: 2d}'`. */
function withDurable(metadata: SaltValue | undefined, ttl: string | undefined) {
  if (ttl === undefined) return metadata;
  const entries = isMap(metadata) ? metadata : new Map<SaltValue, SaltValue>();
  return new Map([...entries, ['brine_durable', ttl]]);
}

function insertDoc(args: string[], parser: OptionParser): void {
  if (args.length === 0) args.push('*');
  if (args[1] !== 'sys.doc') args.splice(1, 0, 'sys.doc');
  if (args.length > 3) {
    throw parser.error('You can only get documentation for one method at one time.');
  }
}

/** The target, with its kind from the options. */
export function targetOf(target: string, options: ParsedOptions): Pick<Command, 'tgt' | 'tgtType'> {
  const tgtType = TARGET_KINDS.find((kind) => isOn(options, kind)) ?? 'glob';
  if (tgtType !== 'list') return { tgt: target, tgtType };
  const ids = target.includes(',')
    ? target.replaceAll(' ', '').split(',')
    : target.split(/\s+/).filter((id) => id !== '');
  return { tgt: ids, tgtType };
}

function functionOf(
  functions: string,
  words: readonly string[],
  options: ParsedOptions,
): { fun: string | readonly string[]; arg: readonly SaltValue[] } {
  const noParse = (textValue(options, 'no_parse') ?? '').split(',');
  if (!functions.includes(',')) return { fun: functions, arg: parseArguments(words, noParse) };
  const separator = textValue(options, 'args_separator') ?? ',';
  try {
    const compound = parseCompound(functions, words, separator, noParse);
    return { fun: compound.fun, arg: compound.arg.map((group) => [...group]) };
  } catch (error) {
    if (!(error instanceof CompoundCommandError)) throw error;
    throw new Exit(EXIT.incomplete, `${error.message}\n`);
  }
}
