export { YamlEmitter } from './emitter.ts';
export { doubleQuoted, singleQuoted } from './scalar.ts';
export { YamlLoadError, loadYaml } from './load.ts';
export { resolvePlain } from './resolve.ts';
export type { PlainMeaning } from './resolve.ts';
