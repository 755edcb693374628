export { ConfigError } from './errors.ts';
export { refusalOf } from './judge.ts';
export { clientInterface, loadMasterConfig } from './master.ts';
export { loadMinionConfig } from './minion.ts';
export { isConfigMap, isOption } from './option.ts';
export { LOG_LEVELS } from './options/logging.ts';
export { masterOptions } from './options/master.ts';
export { minionOptions } from './options/minion.ts';
export { masterStandings } from './standings/master.ts';
export { SERVED } from './standings/served.ts';
export { parseConfigText } from './yaml.ts';

export type { ConfigWarning } from './errors.ts';
export type { ConfigLocation } from './load.ts';
export type { LoadedConfig, MasterOptions } from './master.ts';
export type { MinionOptions } from './minion.ts';
export type { ConfigMap, ConfigValue, OptionTable } from './option.ts';
export type { Standing } from './standing.ts';
export type { LogLevel } from './options/logging.ts';
