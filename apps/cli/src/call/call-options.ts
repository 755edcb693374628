import { type CommandForm, flag, text, withoutEffect } from '../options/command-form.ts';
import {
  BASE_OPTIONS,
  loggingGroup,
  NO_PARSE,
  outputGroup,
  SALT_VERSION,
} from '../options/common-groups.ts';

const NO_STATES = "Brine's own minion has no states and no modules of a site";

/** The `salt-call` command (Salt: salt/utils/parsers.py SaltCallOptionParser). */
export const CALL_FORM: CommandForm = {
  prog: 'salt-call',
  usage: '[options] <function> [arguments]',
  description: "Runs a function here, as Brine's own minion with the minion's configuration.",
  version: SALT_VERSION,
  groups: [
    {
      title: 'Options',
      options: [
        ...BASE_OPTIONS,
        flag(['-g', '--grains'], 'grains_run', 'Show the grains.'),
        flag(['-d', '--doc', '--documentation'], 'doc', 'Show the documentation of functions.'),
        text(['--master'], 'master', 'The master, instead of that of the file.'),
        text(['--id'], 'id', 'The id, instead of that of the file.'),
        flag(['--local'], 'local', 'Without a master.'),
        flag(['--retcode-passthrough'], 'retcode_passthrough', "Exit with the function's code."),
        flag(['--metadata'], 'print_metadata', 'Show the whole return with id and job id.'),
        text(['--set-metadata'], 'metadata', 'Kept with the job.'),
        flag(['--no-return-event'], 'no_return_event', 'Do not send the return to the master.'),
        {
          names: ['-t', '--timeout'],
          dest: 'auth_timeout',
          kind: 'int',
          help: 'Seconds to wait for an answer to a log-in.',
        },
        NO_PARSE,
        flag(['--output-diff'], 'state_output_diff', 'Show only states that changed something.'),
        ...(['--return', '--cachedir', '--priv', '--module-executors', '--executor-opts'] as const)
          .map((name) => text([name], name.slice(2).replaceAll('-', '_'), ''))
          .map((option) => withoutEffect(option, "Brine's own minion does not have it")),
        ...(['--file-root', '--pillar-root', '--states-dir'] as const)
          .map((name) => text([name], name.slice(2).replaceAll('-', '_'), ''))
          .map((option) => withoutEffect(option, NO_STATES)),
        withoutEffect(text(['-m', '--module-dirs'], 'module_dirs', ''), NO_STATES),
        withoutEffect(flag(['--skip-grains'], 'skip_grains', ''), 'they are collected in no time'),
        withoutEffect(
          flag(['--refresh-grains-cache'], 'refresh_grains_cache', ''),
          'no grains are kept',
        ),
      ],
    },
    loggingGroup(true),
    outputGroup(),
  ],
};
