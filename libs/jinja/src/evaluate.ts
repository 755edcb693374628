import type { Environment, FilterHost, Scope } from './environment.ts';
import { JinjaError, syntaxError, typeError } from './errors.ts';
import { findFilter } from './filters/filters.ts';
import { findTest } from './filters/tests.ts';
import { attributeOf, itemOf, sliceOf } from './python/attributes.ts';
import { calculate, compare, stepsIn } from './python/operators.ts';
import { str } from './python/text.ts';
import {
  type CallArguments,
  floatValue,
  intValue,
  isDict,
  isFloat,
  iterate,
  keyIn,
  numberOf,
  PyFunction,
  PyObject,
  truth,
  tupleOf,
  typeName,
  Undefined,
} from './python/values.ts';
import type { Arguments, Expression } from './syntax/tree.ts';

/** Computes expressions. */
export class Evaluator implements FilterHost {
  readonly environment: Environment;
  /** The blocks of the template: the value of `self` unless a variable has that name. */
  self: unknown;

  constructor(environment: Environment) {
    this.environment = environment;
  }

  get outside(): Environment['outside'] {
    return this.environment.outside;
  }

  step(count: number): void {
    this.environment.step(count);
  }

  /** The value of an expression. @throws JinjaError */
  value(node: Expression, scope: Scope): unknown {
    this.environment.step();
    switch (node.kind) {
      case 'Constant':
        return node.value;
      case 'Name':
        return this.name(node.value, scope);
      case 'Attribute':
        return this.#found(attributeOf(this.value(node.target, scope), node.name));
      case 'Item':
        return this.#item(node.target, node.key, scope);
      case 'Call':
        return this.#call(node, scope);
      case 'FilterCall':
        return this.filtered(node, scope, undefined);
      case 'Test': {
        const target = node.target === undefined ? null : this.value(node.target, scope);
        return this.test(node.name, target, this.args(node.args, scope), node.line);
      }
      case 'Condition':
        if (truth(this.value(node.test, scope))) return this.value(node.yes, scope);
        if (node.no !== undefined) return this.value(node.no, scope);
        return new Undefined(
          `the inline if-expression on line ${node.line} evaluated to false and no else section ` +
            'was defined.',
          true,
        );
      default:
        return this.#operation(node, scope);
    }
  }

  #operation(node: Expression, scope: Scope): unknown {
    switch (node.kind) {
      case 'And': {
        const left = this.value(node.left, scope);
        return truth(left) ? this.value(node.right, scope) : left;
      }
      case 'Or': {
        const left = this.value(node.left, scope);
        return truth(left) ? left : this.value(node.right, scope);
      }
      case 'Not':
        return !truth(this.value(node.target, scope));
      case 'Comparison':
        return this.#comparison(node, scope);
      case 'Math':
        return this.#calculation(node, scope);
      case 'Join':
        return node.parts.map((part) => str(this.value(part, scope))).join('');
      case 'Sign':
        return signed(this.value(node.target, scope), node.negative);
      default:
        return this.#literal(node, scope);
    }
  }

  #literal(node: Expression, scope: Scope): unknown {
    switch (node.kind) {
      case 'List':
        return node.children.map((child) => this.value(child, scope));
      case 'Tuple':
        return tupleOf(node.children.map((child) => this.value(child, scope)));
      case 'DictLiteral': {
        const dict = new Map<unknown, unknown>();
        for (const { key, value } of node.pairs) {
          const name = keyIn(dict, this.value(key, scope));
          dict.set(name, this.value(value, scope));
        }
        return dict;
      }
      default:
        throw syntaxError('this cannot stand alone', node.line);
    }
  }

  /** The value of a name, or Jinja's undefined. */
  name(name: string, scope: Scope): unknown {
    const found = scope.find(name);
    if (found !== undefined) return found;
    if (name === 'self') return this.self;
    const global = this.environment.globals.get(name);
    const lenient = this.environment.allowUndefined;
    return global === undefined ? new Undefined(`'${name}' is undefined`, lenient) : global;
  }

  /** A missing item is as lenient as a missing name. */
  #found(value: unknown): unknown {
    const isStrict = value instanceof Undefined && !value.lenient;
    return isStrict && this.environment.allowUndefined ? new Undefined(value.text, true) : value;
  }

  #item(target: Expression, key: Expression, scope: Scope): unknown {
    const value = this.value(target, scope);
    if (key.kind !== 'Slice') return this.#found(itemOf(value, this.value(key, scope)));
    this.step(stepsIn(value));
    const parts = key.parts.map((part) =>
      part === undefined ? undefined : this.value(part, scope),
    );
    return sliceOf(value, parts);
  }

  #comparison(node: Expression & { kind: 'Comparison' }, scope: Scope): boolean {
    let left = this.value(node.first, scope);
    for (const { op, value } of node.rest) {
      const right = this.value(value, scope);
      if (op === 'in' || op === 'not in') this.step(stepsIn(right));
      if (!compare(op, left, right)) return false;
      left = right;
    }
    return true;
  }

  #calculation(node: Expression & { kind: 'Math' }, scope: Scope): unknown {
    const [left, right] = [this.value(node.left, scope), this.value(node.right, scope)];
    // A list that a loop extends is copied each time.
    this.step(stepsIn(left));
    return calculate(node.op, left, right);
  }

  #call(node: Expression & { kind: 'Call' }, scope: Scope): unknown {
    const target = this.value(node.target, scope);
    return this.call(target, this.args(node.args, scope));
  }

  /** Calls a value. @throws JinjaError (TypeError) if it is no function */
  call(target: unknown, args: CallArguments): unknown {
    if (target instanceof Undefined) throw target.error();
    if (target instanceof PyFunction) return target.call(args);
    if (target instanceof PyObject && target.call !== undefined) return target.call(args);
    throw typeError(`'${typeName(target)}' object is not callable`);
  }

  /** The arguments of a call, splats included. @throws JinjaError */
  args(node: Arguments, scope: Scope): CallArguments {
    const positional = node.positional.map((argument) => this.value(argument, scope));
    const named = new Map<string, unknown>();
    for (const [name, argument] of node.named) named.set(name, this.value(argument, scope));
    if (node.splat !== undefined) positional.push(...iterate(this.value(node.splat, scope)));
    if (node.keywordSplat !== undefined) {
      const more = this.value(node.keywordSplat, scope);
      if (!isDict(more)) {
        throw typeError(`argument after ** must be a mapping, not ${typeName(more)}`);
      }
      for (const [name, value] of more) named.set(String(name), value);
    }
    return { positional, named };
  }

  /** A chain of filters over the text of a block. */
  filtered(node: Expression, scope: Scope, block: string | undefined): unknown {
    if (node.kind !== 'FilterCall') return this.value(node, scope);
    const { target } = node;
    const value = target === undefined ? block : this.filtered(target, scope, block);
    return this.filter(node.name, value, this.args(node.args, scope), node.line);
  }

  filter(name: string, value: unknown, args: CallArguments, line?: number): unknown {
    // `map` runs a filter for each value.
    this.step(1 + stepsIn(value));
    const filter = findFilter(name, this.outside.filters);
    if (filter === undefined) throw unknown('filter', name, line);
    return filter(value, args, this);
  }

  test(name: string, value: unknown, args: CallArguments, line?: number): boolean {
    const test = findTest(name);
    if (test === undefined) throw unknown('test', name, line);
    return test(value, args, this);
  }
}

function unknown(kind: string, name: string, line: number | undefined): JinjaError {
  return new JinjaError('Syntax', `No ${kind} named '${name}'.`, line);
}

function signed(value: unknown, negative: boolean): unknown {
  if (value instanceof Undefined) throw value.error();
  const number = numberOf(value);
  if (number === undefined) {
    const sign = negative ? '-' : '+';
    throw typeError(`bad operand type for unary ${sign}: '${typeName(value)}'`);
  }
  if (isFloat(value)) return floatValue(negative ? -Number(number) : Number(number));
  return intValue(negative ? -BigInt(number) : BigInt(number));
}
