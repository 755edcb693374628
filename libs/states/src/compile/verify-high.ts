import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr, strip, typeName } from '@brine/wire/text';
import { firstKey, type HighData, textAt, yamlText } from '../values.ts';
import { REQUISITE_KEYWORDS } from './requisites.ts';

/** The errors in the form of high data, with Salt's texts (salt/state.py _verify_high). */
export function verifyHigh(high: SaltValue): string[] {
  if (!isMap(high)) return ['High data is not a dictionary and is invalid'];
  const errors: string[] = [];
  for (const [key, body] of high) {
    const id = pyStr(key);
    if (typeof key !== 'string') {
      const sls = isMap(body) ? textAt(body, '__sls__') : '';
      errors.push(
        `ID '${id}' in SLS '${sls}' is not formed as a string, but is type ${typeName(key)}. ` +
          'It may need to be quoted.',
      );
    } else if (id.startsWith('__')) continue;
    if (!isMap(body)) {
      errors.push(`The type ${id} in ${yamlText(body)} is not formatted as a dictionary`);
      continue;
    }
    for (const [name, run] of body) {
      const module = pyStr(name);
      if (!module.startsWith('__')) errors.push(...verifyRun(id, module, run, body));
    }
  }
  return errors;
}

function verifyRun(id: string, module: string, run: SaltValue, body: HighData): string[] {
  const sls = textAt(body, '__sls__');
  if (run === null) {
    return [
      `ID '${id}' in SLS '${sls}' contains a short declaration (${module}) with a trailing ` +
        'colon. When not passing any arguments to a state, the colon must be omitted.',
    ];
  }
  if (!Array.isArray(run)) return [`State '${id}' in SLS '${sls}' is not formed as a list`];
  const errors: string[] = [];
  const dot = module.indexOf('.');
  const named = run.filter((arg) => typeof arg === 'string');
  for (const arg of run) {
    if (typeof arg === 'string') {
      if (strip(arg).includes(' ')) {
        errors.push(
          `The function "${arg}" in state "${id}" in SLS "${sls}" has whitespace, a function ` +
            'with whitespace is not supported, perhaps this is an argument that is missing a ":"',
        );
      }
    } else if (isMap(arg)) errors.push(...verifyArgument(id, sls, arg));
  }
  const count = named.length + (dot >= 0 ? 1 : 0);
  if (count === 0) errors.push(`No function declared in state '${id}' in SLS '${sls}'`);
  if (count > 1) {
    const funs = [...(dot >= 0 ? [module.slice(dot + 1)] : []), ...named];
    errors.push(
      `Too many functions declared in state '${id}' in SLS '${sls}'. Please choose one of the ` +
        `following: ${funs.join(', ')}`,
    );
  }
  return errors;
}

function verifyArgument(id: string, sls: string, arg: SaltMap): string[] {
  const errors: string[] = [];
  const first = firstKey(arg);
  if (first === undefined) return errors;
  const [value = null] = arg.values();
  if (first === 'names' && !Array.isArray(value)) {
    errors.push(
      `The 'names' argument in state '${id}' in SLS '${sls}' needs to be formed as a list`,
    );
  }
  if (!REQUISITE_KEYWORDS.has(first)) return errors;
  if (!Array.isArray(value)) {
    errors.push(
      `The ${first} statement in state '${id}' in SLS '${sls}' needs to be formed as a list`,
    );
  } else for (const item of value) errors.push(...verifyRequisite(id, sls, item));
  if (arg.size !== 1) {
    errors.push(`Multiple dictionaries defined in argument of state '${id}' in SLS '${sls}'`);
  }
  return errors;
}

function verifyRequisite(id: string, sls: string, item: SaltValue): string[] {
  const requisite: SaltValue = typeof item === 'string' ? new Map([['id', item]]) : item;
  if (!isMap(requisite) || requisite.size !== 1) {
    return [
      `Requisite declaration ${yamlText(requisite)} in state ${id} in SLS ${sls} ` +
        'is not formed as a ' +
        'single key dictionary',
    ];
  }
  const errors: string[] = [];
  const key = firstKey(requisite) ?? '';
  const [value = null] = requisite.values();
  if (key.includes('.')) {
    errors.push(
      `Invalid requisite type '${key}' in state '${id}', in SLS '${sls}'. Requisite types must ` +
        `not contain dots, did you mean '${key.slice(0, key.indexOf('.'))}'?`,
    );
  }
  if (isMap(value) || Array.isArray(value)) {
    errors.push(
      `Illegal requisite "${yamlText(value)}" in SLS "${sls}", please check your syntax.\n`,
    );
  }
  return errors;
}
