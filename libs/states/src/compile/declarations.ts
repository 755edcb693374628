import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { HighData } from '../values.ts';

/** Moves `extend` of a file into `__extend__` (Salt: _handle_extend). */
export function handleExtend(data: HighData, sls: string, saltenv: string, errors: string[]): void {
  const extend = data.get('extend');
  if (extend === undefined) return;
  data.delete('extend');
  if (!isMap(extend)) {
    errors.push(`Extension value in SLS '${sls}' is not a dictionary`);
    return;
  }
  for (const [name, body] of extend) {
    if (!isMap(body)) {
      errors.push(`Extension name '${pyStr(name)}' in SLS '${sls}' is not a dictionary`);
      continue;
    }
    setPlace(body, sls, saltenv);
    for (const key of [...body.keys()]) {
      const run = body.get(key);
      if (typeof key === 'string' && Array.isArray(run)) splitFunction(body, key, run);
    }
  }
  data.set('__extend__', [...listOf(data.get('__extend__')), extend]);
}

/** Moves `exclude` of a file into `__exclude__` (Salt: _handle_exclude). */
export function handleExclude(data: HighData, sls: string, errors: string[]): void {
  const exclude = data.get('exclude');
  if (exclude === undefined) return;
  data.delete('exclude');
  if (!Array.isArray(exclude)) {
    errors.push(`Exclude Declaration in SLS ${sls} is not formed as a list`);
    return;
  }
  data.set('__exclude__', [...listOf(data.get('__exclude__')), ...exclude]);
}

/** Gives declarations their file and order, and splits functions (Salt: _handle_state_decls). */
export function handleDeclarations(
  data: HighData,
  sls: string,
  saltenv: string,
  errors: string[],
): void {
  for (const [id, body] of data) {
    if (isMap(body)) {
      splitDeclaration(pyStr(id), body, sls, errors);
      setPlace(body, sls, saltenv);
      continue;
    }
    if (id === '__extend__' || id === '__exclude__') continue;
    if (typeof body === 'string' && body.includes('.')) {
      const [module = '', fun = ''] = body.split('.');
      const made: SaltMap = new Map();
      setPlace(made, sls, saltenv);
      data.set(id, made.set(module, [fun]));
      continue;
    }
    errors.push(`ID ${pyStr(id)} in SLS ${sls} is not a dictionary`);
  }
}

function splitDeclaration(id: string, body: SaltMap, sls: string, errors: string[]): void {
  const modules = new Set<string>();
  for (const key of [...body.keys()]) {
    const run = body.get(key);
    if (typeof key !== 'string') {
      errors.push(`ID '${id}' in SLS '${sls}' has a key that is no text: ${pyStr(key)}`);
      body.delete(key);
    } else if (!key.startsWith('_') && Array.isArray(run)) {
      const [module = ''] = key.split('.');
      if (key.includes('.') && modules.has(module)) {
        errors.push(
          `ID '${id}' in SLS '${sls}' contains multiple state declarations of the same type`,
        );
        continue;
      }
      splitFunction(body, key, run);
      modules.add(module);
    }
  }
}

/** Turns `module.function` into the module, with the function as its last argument. */
function splitFunction(body: SaltMap, key: string, run: SaltValue[]): void {
  if (key.startsWith('_') || !key.includes('.')) return;
  const [module = '', fun = ''] = key.split('.');
  body.delete(key);
  body.set(module, run);
  run.push(fun);
}

function setPlace(body: SaltMap, sls: string, saltenv: string): void {
  if (!body.has('__sls__')) body.set('__sls__', sls);
  if (!body.has('__env__')) body.set('__env__', saltenv);
}

function listOf(value: SaltValue | undefined): SaltValue[] {
  return Array.isArray(value) ? value : [];
}
