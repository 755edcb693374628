import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import {
  loadYaml,
  plainValue,
  resolvePlain,
  YamlLoadError,
  YamlWork,
  YamlWorkError,
} from '@brine/yaml';

// `name=value` where the name is an identifier that may also have `.` and `-`
// (Salt: salt/utils/args.py KWARG_REGEX). A value that begins with `=` or has a
// line end does not count: such a text stays as it is.
const KEYWORD = /^([\p{L}\p{Nl}_][\p{L}\p{N}\p{Mn}\p{Pc}.-]*)=(?!=)(.*)$/u;
// Texts without any YAML syntax, for which the parser need not be loaded.
const SIMPLE = /^[A-Za-z0-9_+./][A-Za-z0-9_+./-]*$/;

/**
 * The arguments of a command in the form in which they are sent: each read as YAML, `name=value`
 * gathered in one map with `__kwarg__` at the end (Salt: salt/utils/args.py parse_input).
 * @param noParse names of keywords whose value stays text (`--no-parse`)
 * @param work default: the limit for files of the operator
 * @throws YamlWorkError
 */
export function parseArguments(
  words: readonly string[],
  noParse: readonly string[] | ReadonlySet<string> = [],
  work = YamlWork.ofFile(),
): SaltValue[] {
  const list: SaltValue[] = [];
  const keywords: SaltMap = new Map();
  const texts = noParse instanceof Set ? noParse : new Set(noParse);
  for (const word of words) {
    work.spend(1);
    const keyword = keywordIn(word);
    if (keyword === undefined) {
      list.push(withoutJidNumber(yamlArgument(word, work)));
    } else {
      const [name, value] = keyword;
      keywords.set(name, texts.has(name) ? value : yamlArgument(value, work));
    }
  }
  if (keywords.size > 0)
    list.push(new Map<SaltValue, SaltValue>([['__kwarg__', true], ...keywords]));
  return list;
}

/** The name and the value of a text `name=value`; undefined for other texts. */
export function keywordIn(word: string): readonly [name: string, value: string] | undefined {
  const [, name, value] = KEYWORD.exec(word) ?? [];
  return name === undefined || value === undefined ? undefined : [name, value];
}

/** A job id reads as a number; it is sent as text (Salt: condition_input). */
export function withoutJidNumber(value: SaltValue): SaltValue {
  if (typeof value !== 'bigint' && typeof value !== 'number') return value;
  const text = String(value);
  return /^\d{20}$/.test(text) ? text : value;
}

/**
 * One argument as YAML. Anything but a number, boolean, None, list or dictionary stays a text, and
 * so does broken YAML (Salt: salt/utils/args.py yamlify_arg).
 * @throws YamlWorkError
 */
export function yamlArgument(text: string, work = YamlWork.ofFile()): SaltValue {
  const bare = text.trim();
  if (bare === '' || bare === '---' || bare === '...') return text;
  if (text.includes('_') && /^[0-9_]*$/.test(bare)) return text;
  if (/[\t\r\n]/.test(text)) return text;
  if (text === 'None') return null;
  if (SIMPLE.test(text)) return simpleArgument(text);
  let value: SaltValue;
  try {
    value = loadYaml(text, work);
  } catch (error) {
    if (error instanceof YamlLoadError && !(error instanceof YamlWorkError)) return text;
    throw error;
  }
  if (text.includes('#')) return typeof value === 'string' || value === null ? text : value;
  if (isMap(value)) return text.startsWith('{') ? value : text;
  if (Array.isArray(value)) return text.startsWith('[') ? value : text;
  if (value === '' && (text === '|' || text === '!')) return text;
  return value === null && text === '!' ? text : value;
}

function simpleArgument(text: string): SaltValue {
  const meaning = resolvePlain(text);
  // Other values need the full parser.
  if (meaning.kind === 'bool') return meaning.value;
  if (meaning.kind === 'null') return null;
  return meaning.kind === 'int' || meaning.kind === 'float' ? plainValue(text, meaning) : text;
}

/** The functions and arguments of a compound command. */
export interface CompoundCommand {
  readonly fun: readonly string[];
  readonly arg: readonly SaltValue[][];
}

/** A compound command whose groups of arguments do not fit its functions; exit code 42. */
export class CompoundCommandError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'CompoundCommandError';
  }
}

/**
 * Splits `fun1,fun2` and its arguments. Groups are separated by an argument that is the separator,
 * or, the old way, by a separator within an argument (Salt: salt/utils/parsers.py
 * SaltCMDOptionParser).
 * @throws CompoundCommandError
 */
export function parseCompound(
  functions: string,
  words: readonly string[],
  separator: string,
  noParse: readonly string[] = [],
): CompoundCommand {
  const fun = functions.split(',');
  const alone = words.filter((word) => word === separator).length === fun.length - 1;
  const groups = alone ? splitAlone(words, separator) : splitInside(words, separator);
  if (!alone && fun.length > groups.length) {
    throw new CompoundCommandError(
      'Cannot execute compound command without defining all arguments.',
    );
  }
  if (!alone && fun.length < groups.length) {
    throw new CompoundCommandError(
      'Cannot execute compound command with more arguments than commands.',
    );
  }
  return { fun, arg: groups.map((group) => parseArguments(group, noParse)) };
}

function splitAlone(words: readonly string[], separator: string): string[][] {
  const groups: string[][] = [[]];
  for (const word of words) {
    if (word === separator) groups.push([]);
    else groups.at(-1)?.push(word);
  }
  return groups;
}

function splitInside(words: readonly string[], separator: string): string[][] {
  const groups: string[][] = [[]];
  for (const word of words) {
    const [first = '', ...rest] = separator === '' ? [word] : word.split(separator);
    if (first !== '' || rest.length === 0) groups.at(-1)?.push(first);
    for (const part of rest) groups.push(part === '' ? [] : [part]);
  }
  return groups;
}
