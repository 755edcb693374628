import { bindFilter } from '../arguments.ts';
import type { Filter, FilterHost } from '../environment.ts';
import { JinjaError, typeError, valueError } from '../errors.ts';
import { evaluate } from '../jmespath/evaluate.ts';
import { type Node, parseExpression } from '../jmespath/parser.ts';
import {
  type CallArguments,
  iterate,
  keyOf,
  truth,
  typeName,
  Undefined,
} from '../python/values.ts';

/** Characters of an expression at most. */
const EXPRESSION_MAX = 65_536;
/** Characters of an expression that count as one step of the render. */
const CHARACTERS_PER_STEP = 8;

/** Salt's filter for JMESPath expressions (Salt: salt/utils/data.py json_query). */
export const QUERY_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['json_query', (value, args, host) => queried(value, args, host)],
]);

function queried(value: unknown, args: CallArguments, host: FilterHost): unknown {
  const expression = bindFilter('json_query', 'data', value, ['expr'], args).get('expr');
  const node = parsed(expression, host);
  if (value instanceof Undefined) throw value.error();
  return evaluate(node, value, (count) => host.step(count));
}

/** A loop applies the same expression to many values. */
let latest: { readonly expression: string; readonly node: Node } | undefined;

function parsed(expression: unknown, host: FilterHost): Node {
  if (!truth(keyOf(expression))) {
    throw valueError('Invalid JMESPath expression: cannot be empty.');
  }
  if (typeof expression !== 'string') {
    iterate(expression);
    throw typeError(`'${typeName(expression)}' object is no expression`);
  }
  if (latest?.expression !== expression) {
    if (expression.length > EXPRESSION_MAX) {
      throw new JinjaError('Limit', `json_query: at most ${EXPRESSION_MAX} characters`);
    }
    host.step(Math.ceil(expression.length / CHARACTERS_PER_STEP));
    latest = { expression, node: parseExpression(expression) };
  }
  return latest.node;
}
