import { Scope } from './environment.ts';
import { typeError } from './errors.ts';
import type { Evaluator } from './evaluate.ts';
import { repr } from './python/text.ts';
import { type CallArguments, PyObject, tupleOf, Undefined } from './python/values.ts';
import type { Body, Parameters } from './syntax/tree.ts';

/** The parts of a macro, or of the body of a call block. */
export interface MacroParts {
  /** Undefined for the body of a call block. */
  readonly name: string | undefined;
  readonly parameters: Parameters;
  readonly body: Body;
  /** The scope of its definition. */
  readonly scope: Scope;
  readonly executor: {
    readonly evaluator: Evaluator;
    captured(body: Body, scope: Scope): string;
  };
}

/** A macro as a value to call (Jinja: jinja2/runtime.py Macro). */
export function makeMacro(parts: MacroParts): PyObject {
  const { name, parameters } = parts;
  const attributes = new Map<string, unknown>([
    ['name', name ?? null],
    ['arguments', tupleOf(parameters.names)],
    ['catch_kwargs', mentions(parts.body, 'kwargs')],
    ['catch_varargs', mentions(parts.body, 'varargs')],
    ['caller', mentions(parts.body, 'caller')],
  ]);
  return new PyObject(
    'Macro',
    attributes,
    () => `<Macro ${name === undefined ? 'anonymous' : repr(name)}>`,
    (args) => parts.executor.evaluator.environment.deeper(() => run(parts, args)),
  );
}

function run(parts: MacroParts, args: CallArguments): string {
  const { names, defaults } = parts.parameters;
  const scope = new Scope(parts.scope);
  const named = new Map(args.named);
  names.forEach((name, at) => {
    if (at < args.positional.length) scope.names.set(name, args.positional[at]);
    else if (named.has(name)) scope.names.set(name, named.get(name));
    else {
      const standard = defaults[at - (names.length - defaults.length)];
      const missing = new Undefined(`parameter '${name}' was not provided`);
      const value =
        standard === undefined ? missing : parts.executor.evaluator.value(standard, scope);
      scope.names.set(name, value);
    }
    if (at >= args.positional.length) named.delete(name);
  });
  if (named.has('caller') && mentions(parts.body, 'caller')) {
    scope.names.set('caller', named.get('caller'));
    named.delete('caller');
  } else if (!names.includes('caller')) {
    scope.names.set('caller', new Undefined('No caller defined'));
  }
  takeRest(parts, scope, args.positional.slice(names.length), named);
  return parts.executor.captured(parts.body, scope);
}

/** Arguments without a parameter go to `varargs` and `kwargs`, if the body uses them. */
function takeRest(
  { name, parameters, body }: MacroParts,
  scope: Scope,
  positional: readonly unknown[],
  named: Map<string, unknown>,
): void {
  const shown = repr(name ?? null);
  if (positional.length > 0 && !mentions(body, 'varargs')) {
    throw typeError(`macro ${shown} takes not more than ${parameters.names.length} argument(s)`);
  }
  const [first] = named.keys();
  if (first !== undefined && !mentions(body, 'kwargs')) {
    const text = named.has('caller')
      ? 'was invoked with two values for the special caller argument. This is most likely a bug.'
      : `takes no keyword argument '${first}'`;
    throw typeError(`macro ${shown} ${text}`);
  }
  scope.names.set('varargs', tupleOf(positional));
  scope.names.set('kwargs', named);
}

function mentions(node: unknown, name: string): boolean {
  if (typeof node !== 'object' || node === null) return false;
  const { kind, value } = node as { kind?: unknown; value?: unknown };
  if (kind === 'Name' && value === name) return true;
  return Object.values(node).some((part) => mentions(part, name));
}
