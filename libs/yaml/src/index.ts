export { YamlEmitter } from './emitter.ts';
export { YamlLoadError } from './errors.ts';
export { loadYaml, plainValue } from './load.ts';
export type { PlainMeaning } from './resolve.ts';
export { resolvePlain } from './resolve.ts';
export { doubleQuoted, singleQuoted } from './scalar.ts';
export { YamlWork, YamlWorkError } from './work.ts';
