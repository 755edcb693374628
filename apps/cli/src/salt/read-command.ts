import { type Command, CompoundCommandError, parseArguments, parseCompound } from '@brine/client';
import type { SaltValue } from '@brine/wire';
import { EXIT, Exit } from '../exit-codes.ts';
import { isOn, type ParsedOptions, textValue } from '../options/option.ts';
import type { OptionParser } from '../options/parser.ts';
import { TARGET_KINDS } from '../options/salt-form.ts';
import type { Terminal } from '../terminal.ts';

/** Target, function and arguments of a command line. */
export type SaltCommand = Omit<Command, 'kwargs' | 'jid'>;

/**
 * Reads target, function and arguments (Salt: salt/utils/parsers.py SaltCMDOptionParser).
 * @throws Exit 42 where the command line is not complete, 64 where `-d` has too many words.
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

function insertDoc(args: string[], parser: OptionParser): void {
  if (args.length === 0) args.push('*');
  if (args[1] !== 'sys.doc') args.splice(1, 0, 'sys.doc');
  if (args.length > 3) {
    throw parser.error('You can only get documentation for one method at one time.');
  }
}

function targetOf(target: string, options: ParsedOptions): Pick<Command, 'tgt' | 'tgtType'> {
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
