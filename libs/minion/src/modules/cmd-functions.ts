import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isMap, SaltFloat, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import {
  type Call,
  ExecutionError,
  type FunctionTable,
  InvocationError,
  type MinionFunction,
  type Parameter,
  textArgument,
} from '../functions/minion-function.ts';
import { type Command, type CommandResult, runCommand } from './run-command.ts';

// Salt's keywords that have an effect here. The others are accepted without effect.
const PARAMETERS: readonly Parameter[] = [
  { name: 'cmd' },
  { name: 'cwd', default: null },
  { name: 'stdin', default: null },
  { name: 'runas', default: null },
  { name: 'shell', default: null },
  { name: 'python_shell', default: null },
  { name: 'env', default: null },
  { name: 'clean_env', default: false },
  { name: 'timeout', default: null },
  { name: 'ignore_retcode', default: false },
  { name: 'raise_err', default: false },
  { name: 'success_retcodes', default: null },
];

type ResultPart = (result: CommandResult) => SaltValue;

function command(doc: string, merge: boolean, pick: ResultPart): MinionFunction {
  return {
    doc,
    parameters: PARAMETERS,
    takes: 'kwargs',
    run: async (call) => {
      const result = await runCommand(commandOf(call, merge));
      const good = successCodes(call).includes(result.retcode);
      if (!good && call.named.get('ignore_retcode') !== true) call.setRetcode(result.retcode);
      if (!good && call.named.get('raise_err') === true) {
        throw new ExecutionError(
          `Command '${textArgument(call, 'cmd')}' failed with return code: ${result.retcode}`,
        );
      }
      return pick(result);
    },
  };
}

function commandOf(call: Call, merge: boolean): Command {
  const cwd = optionalText(call, 'cwd');
  if (cwd !== undefined && !isDirectory(cwd)) {
    throw new ExecutionError(`Specified cwd '${cwd}' either not absolute or does not exist`);
  }
  const runas = optionalText(call, 'runas');
  if (runas !== undefined) throw new ExecutionError('runas is not supported by this minion');
  const stdin = call.named.get('stdin');
  const timeout = seconds(call.named.get('timeout'));
  return {
    command: textArgument(call, 'cmd'),
    shell: optionalText(call, 'shell') ?? process.env['SHELL'] ?? '/bin/sh',
    clean: call.named.get('clean_env') === true,
    env: givenVariables(call),
    merge,
    ...(cwd === undefined ? {} : { cwd }),
    ...(typeof stdin === 'string' || stdin instanceof Uint8Array ? { stdin } : {}),
    ...(timeout === undefined ? {} : { timeoutS: timeout }),
  };
}

function givenVariables(call: Call): Record<string, string> {
  const env = new Map<string, string>();
  const given = call.named.get('env') ?? null;
  for (const map of (Array.isArray(given) ? given : [given]).filter(isMap)) {
    for (const [key, value] of map) env.set(pyStr(key), pyStr(value));
  }
  return Object.fromEntries(env);
}

function successCodes(call: Call): readonly number[] {
  const more = call.named.get('success_retcodes');
  const list = Array.isArray(more) ? more : [more];
  return [0, ...list.filter((code): code is number => typeof code === 'number')];
}

function optionalText(call: Call, name: string): string | undefined {
  const value = call.named.get(name);
  return value === null || value === undefined || value === ''
    ? undefined
    : textArgument(call, name);
}

function seconds(value: SaltValue | undefined): number | undefined {
  if (value === null || value === undefined) return undefined;
  const number = value instanceof SaltFloat ? value.value : Number(value);
  if (!(number > 0)) throw new InvocationError('timeout must be a number of seconds');
  return number;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function which(name: string): string | undefined {
  const dirs = name.includes('/') ? [''] : (process.env['PATH'] ?? '').split(delimiter);
  return dirs.map((dir) => join(dir, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // missing or not executable: the next directory
  }
}

const all: ResultPart = ({ pid, retcode, stdout, stderr }) =>
  new Map<SaltValue, SaltValue>([
    ['pid', pid],
    ['retcode', retcode],
    ['stdout', stdout],
    ['stderr', stderr],
  ]);

/** The module `cmd`. */
export const cmdFunctions: FunctionTable = new Map<string, MinionFunction>([
  [
    'cmd.run',
    command('Execute the passed command and return the output as a string.', true, (r) => r.stdout),
  ],
  ['cmd.shell', command('Execute the passed command in a shell.', true, (r) => r.stdout)],
  [
    'cmd.run_stdout',
    command('Execute a command, and only return the standard out.', false, (r) => r.stdout),
  ],
  [
    'cmd.run_stderr',
    command('Execute a command and only return the standard error.', false, (r) => r.stderr),
  ],
  [
    'cmd.run_all',
    command('Execute the passed command and return a dict of return data.', false, all),
  ],
  [
    'cmd.retcode',
    command(
      "Execute a shell command and return the command's return code.",
      true,
      (r) => r.retcode,
    ),
  ],
  [
    'cmd.which',
    {
      doc: 'Returns the path of an executable available on the minion, None otherwise.',
      parameters: [{ name: 'cmd' }],
      run: (call) => which(textArgument(call, 'cmd')) ?? null,
    },
  ],
  [
    'cmd.has_exec',
    {
      doc: 'Returns true if the executable is available on the minion, false otherwise.',
      parameters: [{ name: 'cmd' }],
      run: (call) => which(textArgument(call, 'cmd')) !== undefined,
    },
  ],
]);
