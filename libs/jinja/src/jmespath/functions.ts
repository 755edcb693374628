import { strip } from '@brine/wire/text';
import { type JinjaError, typeError, valueError } from '../errors.ts';
import { compactJson } from '../filters/data-filters.ts';
import { toFloatValue, wholeText } from '../filters/text-filters.ts';
import { joinBounded } from '../limits.ts';
import { calculate, compare, contains, sorted, stepsIn } from '../python/operators.ts';
import { repr, str } from '../python/text.ts';
import {
  floatValue,
  intValue,
  isDict,
  isFloat,
  isList,
  lengthOf,
  numberOf,
  typeName,
} from '../python/values.ts';
import { Expression, type Step } from './expression.ts';

interface JmesFunction {
  /** The types that each argument may have; an empty list allows any. */
  readonly takes: readonly (readonly string[])[];
  /** The last argument may be repeated. */
  readonly isOpen?: boolean;
  readonly run: (args: readonly unknown[], step: Step) => unknown;
}

/** Calls a function of the language. @throws JinjaError with the text of jmespath.py */
export function callFunction(name: string, args: readonly unknown[], step: Step): unknown {
  const found = FUNCTIONS.get(name);
  if (found === undefined) throw valueError(`Unknown function: ${name}()`);
  const { takes, isOpen } = found;
  if (isOpen === true ? args.length < takes.length : args.length !== takes.length) {
    const least = isOpen === true ? 'at least ' : '';
    const count = `${takes.length} argument${takes.length === 1 ? '' : 's'}`;
    throw valueError(`Expected ${least}${count} for function ${name}(), received ${args.length}`);
  }
  takes.forEach((types, at) => {
    if (types.length > 0) checkType(name, args[at], types, step);
  });
  return found.run(args, step);
}

/** Types of the language by those of Python. */
const TYPES: Readonly<Record<string, string>> = {
  bool: 'boolean',
  list: 'array',
  dict: 'object',
  NoneType: 'null',
  str: 'string',
  float: 'number',
  int: 'number',
  _Expression: 'expref',
};

function typeOf(value: unknown): string {
  return TYPES[typeName(value)] ?? 'unknown';
}

function checkType(name: string, value: unknown, types: readonly string[], step: Step): void {
  const wrong = (found: unknown, shown: string): JinjaError => {
    const expected = `expected one of: ${repr([...types])}, received: "${shown}"`;
    return valueError(`In function ${name}(), invalid type for value: ${str(found)}, ${expected}`);
  };
  const type = typeOf(value);
  if (!types.some((one) => one.split('-')[0] === type)) throw wrong(value, type);
  const inner = types.flatMap((one) => one.split('-').slice(1));
  if (inner.length === 0 || !isList(value) || value.length === 0) return;
  step(value.length);
  const first = typeOf(value[0]);
  const allowed = inner.length === 1 ? inner[0] : first;
  if (!inner.includes(first)) throw wrong(value[0], typeName(value[0]));
  const odd = value.findIndex((item) => typeOf(item) !== allowed);
  if (odd !== -1) throw wrong(value[odd], typeName(value[odd]));
}

const NUMBERS = ['array-number'];
const EITHER = ['array-number', 'array-string'];

const FUNCTIONS: ReadonlyMap<string, JmesFunction> = new Map<string, JmesFunction>([
  ['abs', { takes: [['number']], run: ([number]) => absolute(number) }],
  ['avg', { takes: [NUMBERS], run: ([list]) => average(list as unknown[]) }],
  ['ceil', { takes: [['number']], run: ([number]) => rounded(number, Math.ceil) }],
  [
    'contains',
    {
      takes: [['array', 'string'], []],
      run: ([whole, part], step) => {
        step(stepsIn(whole));
        return contains(whole, part);
      },
    },
  ],
  [
    'ends_with',
    { takes: [['string'], ['string']], run: ([text, end]) => str(text).endsWith(str(end)) },
  ],
  ['floor', { takes: [['number']], run: ([number]) => rounded(number, Math.floor) }],
  [
    'join',
    {
      takes: [['string'], ['array-string']],
      run: ([separator, list]) => joinBounded(list as string[], str(separator)),
    },
  ],
  ['keys', { takes: [['object']], run: ([dict]) => (isDict(dict) ? [...dict.keys()] : null) }],
  ['length', { takes: [['string', 'array', 'object']], run: ([value]) => lengthOf(value) }],
  [
    'map',
    {
      takes: [['expref'], ['array']],
      run: ([expression, list]) => (list as unknown[]).map(of(expression)),
    },
  ],
  ['max', { takes: [EITHER], run: ([list]) => most(list as unknown[], '>', same) }],
  [
    'max_by',
    {
      takes: [['array'], ['expref']],
      run: ([list, expression]) =>
        most(list as unknown[], '>', keyed('max_by', expression, ['number', 'string'])),
    },
  ],
  ['merge', { takes: [['object']], isOpen: true, run: merged }],
  ['min', { takes: [EITHER], run: ([list]) => most(list as unknown[], '<', same) }],
  [
    'min_by',
    {
      takes: [['array'], ['expref']],
      run: ([list, expression]) =>
        most(list as unknown[], '<', keyed('min_by', expression, ['number', 'string'])),
    },
  ],
  [
    'not_null',
    { takes: [[]], isOpen: true, run: (args) => args.find((one) => one !== null) ?? null },
  ],
  [
    'reverse',
    {
      takes: [['array', 'string']],
      run: ([value], step) => {
        step(lengthOf(value));
        return isList(value) ? [...value].reverse() : [...str(value)].reverse().join('');
      },
    },
  ],
  [
    'sort',
    {
      takes: [['array-string', 'array-number']],
      run: ([list], step) => ordered(list as unknown[], same, step),
    },
  ],
  [
    'sort_by',
    {
      takes: [['array'], ['expref']],
      run: ([list, expression], step) => sortedBy(list as unknown[], expression, step),
    },
  ],
  [
    'starts_with',
    { takes: [['string'], ['string']], run: ([text, start]) => str(text).startsWith(str(start)) },
  ],
  ['sum', { takes: [NUMBERS], run: ([list]) => total(list as unknown[]) }],
  ['to_array', { takes: [[]], run: ([value]) => (isList(value) ? value : [value]) }],
  ['to_number', { takes: [[]], run: ([value]) => toNumber(value) }],
  [
    'to_string',
    { takes: [[]], run: ([value]) => (typeof value === 'string' ? value : compactJson(value)) },
  ],
  ['type', { takes: [[]], run: ([value]) => shownType(value) }],
  ['values', { takes: [['object']], run: ([dict]) => (isDict(dict) ? [...dict.values()] : null) }],
]);

type Key = (value: unknown) => unknown;

const same: Key = (value) => value;

function of(expression: unknown): Key {
  return expression instanceof Expression ? expression.of : same;
}

/** Evaluates an expression on a value; the result must be of one of these types. */
function keyed(name: string, expression: unknown, types: readonly string[]): Key {
  const key = of(expression);
  return (value) => {
    const found = key(value);
    checkType(name, found, types, () => undefined);
    return found;
  };
}

function absolute(number: unknown): unknown {
  return compare('<', number, 0) ? calculate('-', 0, number) : number;
}

function rounded(value: unknown, round: (number: number) => number): unknown {
  if (!isFloat(value)) return value;
  const number = round(Number(numberOf(value)));
  if (!Number.isFinite(number)) throw valueError(`cannot convert float ${str(value)} to integer`);
  return intValue(BigInt(number));
}

function total(list: readonly unknown[]): unknown {
  return list.reduce<unknown>((sum, item) => calculate('+', sum, item), 0);
}

function average(list: readonly unknown[]): unknown {
  return list.length === 0 ? null : calculate('/', total(list), list.length);
}

/** The first of the largest, or of the smallest. */
function most(list: readonly unknown[], operator: '<' | '>', key: Key): unknown {
  let [best = null] = list;
  if (list.length === 0) return null;
  let bestKey = key(best);
  for (const item of list.slice(1)) {
    const itemKey = key(item);
    if (compare(operator, itemKey, bestKey)) [best, bestKey] = [item, itemKey];
  }
  return best;
}

function ordered(list: readonly unknown[], key: Key, step: Step): unknown[] {
  step(list.length);
  return sorted([...list], key);
}

function sortedBy(list: readonly unknown[], expression: unknown, step: Step): unknown[] {
  if (list.length === 0) return [];
  const type = typeOf(of(expression)(list[0]));
  if (type !== 'number' && type !== 'string') {
    const expected = `expected one of: ['string', 'number'], received: "${type}"`;
    const text = `In function sort_by(), invalid type for value: ${str(list[0])}, ${expected}`;
    throw valueError(text);
  }
  return ordered(list, keyed('sort_by', expression, [type]), step);
}

function merged(dicts: readonly unknown[], step: Step): Map<unknown, unknown> {
  const whole = new Map<unknown, unknown>();
  for (const dict of dicts) {
    if (!isDict(dict)) throw typeError(`'${typeName(dict)}' object is not iterable`);
    step(dict.size);
    for (const [key, value] of dict) whole.set(key, value);
  }
  return whole;
}

function toNumber(value: unknown): unknown {
  if (typeof value === 'boolean') return null;
  if (typeof value !== 'string') return numberOf(value) === undefined ? null : value;
  const whole = wholeText(strip(value), 10);
  if (whole !== undefined) return intValue(whole);
  const number = toFloatValue(value);
  return number === undefined ? null : floatValue(number);
}

function shownType(value: unknown): string | null {
  const type = typeOf(value);
  return type === 'unknown' || type === 'expref' ? null : type;
}
