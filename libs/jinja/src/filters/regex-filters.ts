import { matchGlob, PythonRegex, RegexError, Work, WorkError } from '@brine/target';
import { bind, textArgument } from '../arguments.ts';
import type { Filter, FilterHost } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { MAX_LENGTH } from '../limits.ts';
import { type CallArguments, truth, tupleOf, typeName, Undefined } from '../python/values.ts';

/** A step of an expression is a small part of a step of the render. */
const WORK_PER_STEP = 16;

/** Salt's filters for regular expressions (Salt: salt/utils/jinja.py). */
export const REGEX_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['regex_match', (value, args, host) => groups(value, args, host, 'match')],
  ['regex_replace', (value, args, host) => regexReplace(value, args, host)],
  ['regex_search', (value, args, host) => groups(value, args, host, 'search')],
]);

/** The test `match`: true for a match of `re.match`, at the start. */
export function matchesStart(value: unknown, args: CallArguments, host: FilterHost): boolean {
  return groups(value, args, host, 'match') !== null;
}

function bound(fun: string, args: CallArguments, names: readonly string[]): Map<string, unknown> {
  return bind(fun, [...names, 'ignorecase', 'multiline'], args, {
    ignorecase: false,
    multiline: false,
  });
}

function groups(
  value: unknown,
  args: CallArguments,
  host: FilterHost,
  how: 'search' | 'match',
): unknown {
  const given = bound(`regex_${how}`, args, ['rgx']);
  const text = textOf(value);
  const found = bounded(text, host, (work) => compiled(given, work)[how](text, work));
  if (found === undefined) return null;
  const [whole, ...captured] = found.groups;
  return tupleOf(captured.length === 0 ? [whole] : captured.map((part) => part ?? null));
}

function regexReplace(value: unknown, args: CallArguments, host: FilterHost): string {
  const given = bound('regex_replace', args, ['rgx', 'val']);
  const text = textOf(value);
  const template = textArgument('regex_replace', given.get('val'));
  return bounded(text, host, (work) =>
    compiled(given, work).replace(text, template, work, MAX_LENGTH),
  );
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Undefined) throw value.error();
  throw typeError(`expected string or bytes-like object, got '${typeName(value)}'`);
}

/** Loops and `map` apply the same expression to many values. */
let latest: { readonly key: string; readonly regex: PythonRegex } | undefined;

function compiled(given: ReadonlyMap<string, unknown>, work: Work): PythonRegex {
  const pattern = textArgument('regular expression', given.get('rgx'));
  const ignoreCase = truth(given.get('ignorecase'));
  const multiline = truth(given.get('multiline'));
  const key = `${ignoreCase} ${multiline} ${pattern}`;
  if (latest?.key !== key) {
    latest = { key, regex: new PythonRegex(pattern, { ignoreCase, multiline }, work) };
  }
  return latest.regex;
}

/** Runs expressions on a text and counts their work for the render. @throws JinjaError */
function bounded<T>(text: string, host: FilterHost, run: (work: Work) => T): T {
  const work = Work.ofTemplate(text.length);
  const { left } = work;
  try {
    return run(work);
  } catch (error) {
    if (error instanceof RegexError) throw valueError(error.message);
    if (error instanceof WorkError) throw new JinjaError('Limit', error.message);
    throw error;
  } finally {
    host.step(Math.ceil((left - work.left) / WORK_PER_STEP));
  }
}

/** True if a glob or an expression fits (Salt: salt/utils/stringutils.py expr_match). */
export function fits(text: string, expression: string, host: FilterHost): boolean {
  return bounded(text, host, (work) => {
    try {
      if (matchGlob(expression, text, work)) return true;
      return new PythonRegex(`\\A${expression}\\Z`, {}, work).match(text, work) !== undefined;
    } catch (error) {
      if (error instanceof RegexError) return false;
      throw error;
    }
  });
}
