import { isDict, iterate, JinjaError, PyFunction, str, typeName } from '@brine/jinja';
import type { SaltMap, SaltValue } from '@brine/wire';
import type { PillarPorts } from './ports.ts';
import type { FurtherFunctions } from './template-functions.ts';

/** What a name of a function looks like; a module alone is none. */
const FUNCTION_NAME = /^\w+\.\w+$/;

/** Exceptions that Salt reports as a problem of a function (salt/utils/templates.py). */
const OF_FUNCTIONS = ['SaltInvocationError', 'CommandExecutionError'];

/** Finds functions of Salt's execution modules in Python for the templates of a pillar. */
export function pythonFunctions(
  { python, log }: Pick<PillarPorts, 'python' | 'log'>,
  pillar: SaltMap,
): FurtherFunctions {
  const find = (name: string): PyFunction | undefined => {
    if (!FUNCTION_NAME.test(name)) return undefined;
    if (python === undefined) {
      log('error', `a pillar asks for the function ${name}; set brine.python to use that of Salt`);
      return undefined;
    }
    if (!python.knows(name, pillar)) return undefined;
    return new PyFunction(name, ({ positional, named }) => {
      const kwargs: SaltMap = new Map([...named].map(([key, value]) => [key, plain(value)]));
      try {
        return python.call(name, positional.map(plain), kwargs, pillar);
      } catch (error) {
        throw asJinja(error as Error & { readonly python?: string });
      }
    });
  };
  return { find, anyModule: python !== undefined };
}

/** A value of a template as one that can be sent. @throws JinjaError for what can not */
function plain(value: unknown): SaltValue {
  if (Array.isArray(value)) return value.map(plain);
  if (isDict(value)) return new Map([...value].map(([key, item]) => [plain(key), plain(item)]));
  switch (typeName(value)) {
    case 'set':
      return iterate(value).map(plain);
    case 'NoneType':
    case 'str':
    case 'bool':
    case 'int':
    case 'float':
    case 'bytes':
      return value as SaltValue;
    default:
      throw new JinjaError('TypeError', `a ${typeName(value)} is no argument: ${str(value)}`);
  }
}

function asJinja(error: Error & { readonly python?: string }): JinjaError {
  const kind = OF_FUNCTIONS.includes(error.python ?? '') ? 'SaltFunction' : 'ValueError';
  return new JinjaError(kind, error.message);
}
