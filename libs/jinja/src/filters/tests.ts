import type { SaltValue } from '@brine/wire';
import { isNumber } from '@brine/wire/text';
import type { Test } from '../environment.ts';
import { equal } from '../python/equality.ts';
import { calculate, compare, contains, stepsIn } from '../python/operators.ts';
import {
  isDict,
  isFloat,
  isInt,
  isList,
  PyFunction,
  PyObject,
  PySet,
  Undefined,
} from '../python/values.ts';
import { findFilter } from './filters.ts';
import { matchesStart } from './regex-filters.ts';

function comparing(op: string): Test {
  return (value, { positional: [other] }) => compare(op, value, other);
}

function remainder(value: unknown, by: unknown): unknown {
  return calculate('%', value, by);
}

function isSequence(value: unknown): boolean {
  return typeof value === 'string' || Array.isArray(value) || isDict(value);
}

/** Jinja's tests and Salt's (Jinja: jinja2/tests.py; Salt: salt/utils/jinja.py). */
const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ['!=', comparing('!=')],
  ['<', comparing('<')],
  ['<=', comparing('<=')],
  ['==', comparing('==')],
  ['>', comparing('>')],
  ['>=', comparing('>=')],
  ['boolean', (value) => typeof value === 'boolean'],
  [
    'callable',
    (value) =>
      value instanceof PyFunction || (value instanceof PyObject && value.call !== undefined),
  ],
  ['defined', (value) => !(value instanceof Undefined)],
  ['divisibleby', (value, { positional: [by] }) => equal(remainder(value, by), 0)],
  ['eq', comparing('==')],
  ['equalto', comparing('==')],
  ['escaped', () => false],
  ['even', (value) => equal(remainder(value, 2), 0)],
  ['false', (value) => value === false],
  [
    'filter',
    (value, _args, { outside }) =>
      typeof value === 'string' && findFilter(value, outside.filters) !== undefined,
  ],
  ['float', isFloat],
  ['ge', comparing('>=')],
  ['greaterthan', comparing('>')],
  ['gt', comparing('>')],
  [
    'in',
    (value, { positional: [list] }, host) => {
      host.step(stepsIn(list));
      return contains(list, value);
    },
  ],
  ['integer', isInt],
  [
    'iterable',
    (value) => {
      if (value instanceof Undefined) throw value.error();
      return isSequence(value) || value instanceof PySet;
    },
  ],
  ['le', comparing('<=')],
  ['lessthan', comparing('<')],
  ['list', isList],
  [
    'lower',
    (value) =>
      typeof value === 'string' && value === value.toLowerCase() && value !== value.toUpperCase(),
  ],
  ['lt', comparing('<')],
  ['mapping', isDict],
  ['match', matchesStart],
  ['ne', comparing('!=')],
  ['none', (value) => value === null],
  ['number', (value) => typeof value === 'boolean' || isNumber(value as SaltValue)],
  ['odd', (value) => equal(remainder(value, 2), 1)],
  ['sameas', (value, { positional: [other] }) => value === other],
  ['sequence', (value) => isSequence(value)],
  ['string', (value) => typeof value === 'string'],
  ['test', (value) => typeof value === 'string' && TESTS.has(value)],
  ['true', (value) => value === true],
  ['undefined', (value) => value instanceof Undefined],
  [
    'upper',
    (value) =>
      typeof value === 'string' && value === value.toUpperCase() && value !== value.toLowerCase(),
  ],
]);

/** Finds a test; undefined for an unknown name. */
export function findTest(name: string): Test | undefined {
  return TESTS.get(name);
}
