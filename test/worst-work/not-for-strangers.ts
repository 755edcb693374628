/** Exported functions that read nothing from others, or only what was read and bounded before. */
export const NOT_FOR_STRANGERS: Readonly<Record<string, readonly string[]>> = {
  errors: ['target.WorkError', 'yaml.YamlLoadError', 'yaml.YamlWorkError'],
  bounds: ['target.Work', 'yaml.YamlWork'],
  'what is written for an operator': ['yaml.YamlEmitter', 'yaml.doubleQuoted', 'yaml.singleQuoted'],
};
