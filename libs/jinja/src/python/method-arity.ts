import { typeError } from '../errors.ts';

/** Methods that take exactly one argument. */
const ONE = new Set([
  ...['str.join', 'str.partition', 'str.removeprefix', 'str.removesuffix', 'str.rpartition'],
  ...['str.zfill', 'list.append', 'list.count', 'list.extend', 'list.remove', 'tuple.count'],
]);

/** The least number of arguments of methods with optional ones. */
const LEAST: ReadonlyMap<string, number> = new Map([
  ...['center', 'count', 'endswith', 'find', 'index', 'ljust', 'rfind', 'rindex', 'rjust'].map(
    (name) => [`str.${name}`, 1] as const,
  ),
  ...['startswith', 'format_map'].map((name) => [`str.${name}`, 1] as const),
  ['str.replace', 2],
  ...['get', 'pop', 'setdefault'].map((name) => [`dict.${name}`, 1] as const),
  ['list.index', 1],
  ['list.insert', 2],
  ['tuple.index', 1],
]);

/** Refuses a call of a method with too few arguments, with Python's text. @throws JinjaError */
export function checkCount(kind: string, name: string, given: number): void {
  const full = `${kind}.${name}`;
  if (ONE.has(full) && given !== 1) {
    throw typeError(`${full}() takes exactly one argument (${given} given)`);
  }
  const least = LEAST.get(full) ?? 0;
  if (given >= least) return;
  const some = full === 'list.insert' ? '' : 'at least ';
  const noun = least === 1 ? 'argument' : 'arguments';
  throw typeError(`${name} expected ${some}${least} ${noun}, got ${given}`);
}
