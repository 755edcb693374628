import {
  ARGUMENT_OPTIONS,
  BASE_OPTIONS,
  eauthGroup,
  loggingGroup,
  outputGroup,
  SALT_VERSION,
  timeoutOption,
} from './common-groups.ts';
import type { CommandForm } from './option.ts';
import { flag, type Option, text } from './option.ts';

const TARGET_OPTIONS: readonly Option[] = [
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

/** The kinds of target, in the order in which Salt names them in its error text. */
export const TARGET_KINDS: readonly string[] = [
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
  flag(['-p', '--progress'], 'progress', 'A progress bar; needs a package that is not there.'),
  flag(['--failhard'], 'failhard', 'Stop a batch after the first bad return.'),
  flag(['--async'], 'async', 'Do not wait for returns.'),
  {
    names: ['--subset'],
    dest: 'subset',
    kind: 'int',
    default: 0,
    help: 'Run on so many of the targeted minions, chosen at random.',
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
  text(['--return'], 'return', 'Returners of the minions, by comma.', ''),
  text(['--return_config'], 'return_config', 'Configuration of the returner.', ''),
  text(['--return_kwargs'], 'return_kwargs', 'Options of the returner, as YAML.', ''),
  text(['--module-executors'], 'module_executors', 'Executors, as YAML.'),
  text(['--executor-opts'], 'executor_opts', 'Options of the executors, as YAML.'),
  flag(['-d', '--doc', '--documentation'], 'doc', 'Show the documentation of functions.'),
  text(['--args-separator'], 'args_separator', 'Between arguments of several functions.', ','),
  flag(['--summary'], 'cli_summary', 'Show a summary after the returns.'),
  flag(['--why'], 'why', 'Name the cause of each silence, below what Salt says (not in batches).'),
  text(['--metadata'], 'metadata', 'Kept with the job, to find it by.', ''),
  text(['--durable'], 'durable', 'Sent again for so long (15m, 2d) to minions that are away.'),
  flag(['--start-event'], 'start_event', 'Minions tell when they begin.'),
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
