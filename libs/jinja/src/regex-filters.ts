import { bind, textArgument } from './arguments.ts';
import type { Filter } from './environment.ts';
import { expandTemplate, pythonPattern } from './python-pattern.ts';
import { truth, tupleOf, type CallArguments } from './values.ts';

/** Salt's filters for regular expressions (Salt: salt/utils/jinja.py). */
export const REGEX_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['regex_match', (value, args) => groups(value, args, 'regex_match')],
  ['regex_replace', (value, args) => regexReplace(value, args)],
  ['regex_search', (value, args) => groups(value, args, 'regex_search')],
]);

function pattern(fun: string, args: CallArguments, names: readonly string[]): Map<string, unknown> {
  return bind(fun, [...names, 'ignorecase', 'multiline'], args, {
    ignorecase: false,
    multiline: false,
  });
}

function groups(value: unknown, args: CallArguments, fun: 'regex_search' | 'regex_match'): unknown {
  const bound = pattern(fun, args, ['rgx']);
  const expression = compiled(bound);
  const text = textArgument(fun, value);
  const found = fun === 'regex_match' ? anchored(text, expression) : expression.exec(text);
  if (found === null) return null;
  return tupleOf(found.length === 1 ? [found[0]] : found.slice(1).map((part) => part ?? null));
}

function anchored(text: string, expression: RegExp): RegExpExecArray | null {
  return new RegExp(`(?:${expression.source})`, expression.flags.replace('g', 'y')).exec(text);
}

function compiled(bound: ReadonlyMap<string, unknown>): RegExp {
  const source = textArgument('regular expression', bound.get('rgx'));
  return pythonPattern(source, truth(bound.get('ignorecase')), truth(bound.get('multiline')));
}

function regexReplace(value: unknown, args: CallArguments): string {
  const bound = pattern('regex_replace', args, ['rgx', 'val']);
  const text = textArgument('regex_replace', value);
  const template = textArgument('regex_replace', bound.get('val'));
  let out = '';
  let from = 0;
  for (const match of text.matchAll(compiled(bound))) {
    out += text.slice(from, match.index) + expandTemplate(template, match);
    from = match.index + match[0].length;
  }
  return out + text.slice(from);
}

/** `is match`: what `re.match` finds at the start. */
export function matchesStart(value: unknown, args: CallArguments): boolean {
  return anchored(textArgument('match', value), compiled(pattern('match', args, ['rgx']))) !== null;
}
