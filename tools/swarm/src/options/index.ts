export type { Option } from './option.ts';
export { decimal, flag, MAX_SEED, names, oneOf, seed, short } from './option.ts';
export { text, texts, UsageError, whole } from './option.ts';
export type { Given } from './read.ts';
export { drawOptions, readArguments, readOptions } from './read.ts';
export { runTool } from './run-tool.ts';
