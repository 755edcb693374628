export { bind, bindFilter } from './arguments.ts';
export type { Filter, Outside } from './environment.ts';
export { JinjaError } from './errors.ts';
export { traverseData } from './filters/hash-filters.ts';
export { attributeOf } from './python/attributes.ts';
export { equal } from './python/equality.ts';
export { repr, str } from './python/text.ts';
export {
  isDict,
  isList,
  iterate,
  NamedDict,
  PyFunction,
  PyObject,
  truth,
  typeName,
  Undefined,
} from './python/values.ts';
export { renderTemplate } from './render.ts';
export { saltErrorHead, saltErrorText } from './salt-error.ts';
