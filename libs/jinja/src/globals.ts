import { bind, wholeNumber } from './arguments.ts';
import { JinjaError, typeError, valueError } from './errors.ts';
import { loremIpsum } from './lorem-ipsum.ts';
import { update } from './python/container-methods.ts';
import { str } from './python/text.ts';
import { type CallArguments, PyFunction, PyObject, Range } from './python/values.ts';

// Jinja's sandbox refuses longer ranges (Jinja: jinja2/sandbox.py MAX_RANGE).
const MAX_RANGE = 100_000;

/** Names that every template of Jinja and of Salt can use. */
export function standardGlobals(random: () => number): Map<string, unknown> {
  const dict = new PyFunction('dict', newDict, "<class 'dict'>");
  return new Map<string, unknown>([
    ['range', new PyFunction('range', range, '<function safe_range>')],
    ['dict', dict],
    ['odict', dict],
    ['namespace', new PyFunction('namespace', namespace, "<class 'jinja2.utils.Namespace'>")],
    ['cycler', new PyFunction('cycler', cycler, "<class 'jinja2.utils.Cycler'>")],
    ['joiner', new PyFunction('joiner', joiner, "<class 'jinja2.utils.Joiner'>")],
    ['lipsum', new PyFunction('generate_lorem_ipsum', (args) => loremIpsum(args, random))],
    ['raise', new PyFunction('jinja_raise', raise)],
    ['ifelse', new PyFunction('ifelse', ifElse)],
  ]);
}

function range(args: CallArguments): Range {
  const given = args.positional.length;
  if (given > 3) throw typeError(`range expected at most 3 arguments, got ${given}`);
  const [first, second, third] = args.positional.map(wholeNumber);
  if (first === undefined) throw typeError('range expected at least 1 argument, got 0');
  const [start, stop, step] = [second === undefined ? 0 : first, second ?? first, third ?? 1];
  if (step === 0) throw valueError('range() arg 3 must not be zero');
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (length > MAX_RANGE) {
    const text = `Range too big. The sandbox blocks ranges larger than MAX_RANGE (${MAX_RANGE}).`;
    throw new JinjaError('OverflowError', text);
  }
  const list = new Range();
  for (let at = 0; at < length; at += 1) list.push(start + at * step);
  list.text = step === 1 ? `range(${start}, ${stop})` : `range(${start}, ${stop}, ${step})`;
  return list;
}

function newDict(args: CallArguments): Map<unknown, unknown> {
  const dict = new Map<unknown, unknown>();
  const given = args.positional.length;
  if (given > 1) throw typeError(`dict expected at most 1 argument, got ${given}`);
  update(dict, args);
  return dict;
}

function namespace(args: CallArguments): PyObject {
  const attributes = new Map<string, unknown>();
  for (const [name, value] of newDict(args)) attributes.set(str(name), value);
  return new PyObject('Namespace', attributes, () => '<Namespace>');
}

function cycler({ positional }: CallArguments): PyObject {
  if (positional.length === 0) throw valueError('at least one item has to be provided');
  let at = 0;
  const attributes = new Map<string, unknown>([['current', positional[0]]]);
  const move = (to: number): null => {
    at = to;
    attributes.set('current', positional[at]);
    return null;
  };
  attributes.set('reset', new PyFunction('reset', () => move(0)));
  attributes.set(
    'next',
    new PyFunction('next', () => {
      const value = positional[at];
      move((at + 1) % positional.length);
      return value;
    }),
  );
  return new PyObject('Cycler', attributes, () => '<Cycler>');
}

function joiner(args: CallArguments): PyObject {
  const separator = bind('joiner', ['sep'], args, { sep: ', ' }).get('sep');
  let used = false;
  return new PyObject(
    'Joiner',
    new Map(),
    () => '<Joiner>',
    () => {
      const text = used ? separator : '';
      used = true;
      return text;
    },
  );
}

/**
 * Salt 3008's global `ifelse` has no minion to match, so with pairs it raises in every template of
 * a master (Salt: salt/modules/match.py, which salt/utils/templates.py imports beside the loader).
 */
function ifElse({ positional, named }: CallArguments): unknown {
  const known = ['tgt_type', 'minion_id', 'merge', 'merge_lists'];
  for (const name of named.keys()) {
    if (known.includes(name)) continue;
    throw typeError(`ifelse() got an unexpected keyword argument '${name}'`);
  }
  if (positional.length % 2 === 0) {
    throw new JinjaError('Raised', 'The ifelse function must have an odd number of arguments!');
  }
  if (positional.length === 1) return positional[0];
  throw new JinjaError('Raised', "name '__context__' is not defined");
}

function raise(args: CallArguments): never {
  throw new JinjaError('Raised', str(bind('jinja_raise', ['msg'], args).get('msg')));
}
