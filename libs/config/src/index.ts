export { ConfigError } from './errors.ts';
export { findConfig } from './load.ts';
export { clientInterface, loadMasterConfig } from './master.ts';
export { loadMinionConfig } from './minion.ts';
export { isConfigMap, isOption } from './option.ts';
export { LOG_LEVELS } from './options/logging.ts';
export { masterOptions } from './options/master.ts';
export { minionOptions } from './options/minion.ts';
export { parseConfigText } from './yaml.ts';

export type { ConfigErrorCode, ConfigWarning } from './errors.ts';
export type { ConfigLocation, ConfigPlace, Environment } from './load.ts';
export type { LoadedConfig, MasterOptions } from './master.ts';
export type { MinionOptions } from './minion.ts';
export type { ConfigMap, ConfigValue, Option, OptionTable, OptionValues } from './option.ts';
export type { LogLevel } from './options/logging.ts';
export type { ParsedFile } from './yaml.ts';
