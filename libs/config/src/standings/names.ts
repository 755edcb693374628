import { type ConfigMap, type ConfigValue, isConfigMap, isList } from '../option.ts';
import { SERVED } from './served-kinds.ts';

/** The names of a map, or of the maps of a list. */
export function namesIn(value: ConfigValue | undefined): string[] {
  if (isConfigMap(value)) return Object.keys(value);
  return isList(value) ? value.filter(isConfigMap).flatMap(Object.keys) : [];
}

/** A text, or the texts of a list. */
export function textsIn(value: ConfigValue | undefined): string[] {
  if (isList(value)) return value.flatMap(textsIn);
  return typeof value === 'string' ? [value] : [];
}

/** True if the site's Salt runs modules in Python (`brine.python`). */
export function hasPython({ brine }: ConfigMap): boolean {
  return isConfigMap(brine) && textsIn(brine['python']).some((path) => path !== '');
}

/** For options that modules in Python read: nothing is lost if such modules can run. */
export const IN_PYTHON = {
  lost: (_value: ConfigValue, values: ConfigMap): readonly string[] | undefined =>
    hasPython(values) ? [] : undefined,
};

/** The distinct names that are not supported kinds of an option. */
export function notServed(option: keyof typeof SERVED, names: readonly string[]): string[] {
  const served: readonly string[] = SERVED[option];
  return [...new Set(names)].filter((name) => !served.includes(name));
}
