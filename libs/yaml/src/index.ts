export { YamlEmitter } from './emit/emitter.ts';
export { doubleQuoted, singleQuoted } from './emit/scalar.ts';
export { YamlLoadError } from './errors.ts';
export type { YamlFile } from './load.ts';
export { loadSls, loadYaml, loadYamlFile } from './load.ts';
export { plainValue } from './values/plain-value.ts';
export { resolvePlain } from './values/resolve.ts';
export { YamlWork, YamlWorkError } from './work.ts';
