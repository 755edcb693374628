import { nearestName } from './did-you-mean.ts';
import { ConfigError, type ConfigWarning } from './errors.ts';
import {
  camelCase,
  type ConfigMap,
  type ConfigValue,
  isConfigMap,
  isOption,
  Misfit,
  Odd,
  type Option,
  type OptionTable,
  type OptionValues,
} from './option.ts';

/** The position of a value, for errors. */
export interface Origin {
  readonly file: string;
  readonly line: number;
}

/** Inputs of readTable beside the values. */
export interface TableContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly originOf: (path: string) => Origin;
  /** Names of Salt's options that this table lacks; they are not `unknown`. */
  readonly saltNames: ReadonlySet<string>;
  /** Names that only `judgeOptions` warns of. */
  readonly judgedNames: ReadonlySet<string>;
  readonly warn: (warning: ConfigWarning) => void;
}

/**
 * Reads the values of one table. An absent or empty option gets its default. An unknown name
 * causes a warning, never an error. The warning shows only the name: a value may be a secret.
 * Throws ConfigError with option, file and line if a value does not fit.
 */
export function readTable<T extends OptionTable>(
  table: T,
  values: ConfigMap,
  context: TableContext,
  prefix = '',
): OptionValues<T> {
  const out: Record<string, unknown> = {};
  for (const [name, entry] of Object.entries(table)) {
    const path = prefix + name;
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    out[camelCase(name)] = isOption(entry)
      ? readOption(entry, path, value, context)
      : readTable(entry, mapAt(path, value, context), context, `${path}.`);
  }
  warnOfUnknown(table, values, context, prefix);
  return out as OptionValues<T>;
}

function readOption(
  option: Option<unknown>,
  path: string,
  value: ConfigValue | undefined,
  context: TableContext,
): unknown {
  const override = option.env === undefined ? undefined : context.env[option.env];
  if (option.env !== undefined && override !== undefined && override !== '') {
    const read = option.read(override);
    if (!(read instanceof Misfit)) return read instanceof Odd ? read.value : read;
    throw new ConfigError(
      'CONFIG_VALUE',
      `Environment variable ${option.env} (option '${path}') must be ${read.expected}`,
    );
  }
  if (value === undefined || value === null) return option.default;
  const read = option.read(value);
  if (read instanceof Misfit) throw misfit(path, read, context);
  if (!(read instanceof Odd)) return read;
  const { file, line } = context.originOf(path);
  const text = `Option '${path}' in ${file}, line ${line}, ${read.meaning}`;
  context.warn({ kind: 'odd', text, file, line, option: path });
  return read.value;
}

function mapAt(path: string, value: ConfigValue | undefined, context: TableContext): ConfigMap {
  if (value === undefined || value === null) return {};
  if (isConfigMap(value)) return value;
  throw misfit(path, new Misfit('a map'), context);
}

function misfit(path: string, { expected }: Misfit, context: TableContext): ConfigError {
  const { file, line } = context.originOf(path);
  const message = `Option '${path}' in ${file}, line ${line}, must be ${expected}`;
  return new ConfigError('CONFIG_VALUE', message, { file, line });
}

function warnOfUnknown(
  table: OptionTable,
  values: ConfigMap,
  context: TableContext,
  prefix: string,
): void {
  const isSalts = (name: string): boolean => prefix === '' && context.saltNames.has(name);
  for (const name of Object.keys(values)) {
    if (Object.hasOwn(table, name)) continue;
    if (prefix === '' && context.judgedNames.has(name)) continue;
    const option = prefix + name;
    const { file, line } = context.originOf(option);
    if (isSalts(name)) {
      const text = `Option '${option}' in ${file}, line ${line}, is Salt's but has no effect here`;
      context.warn({ kind: 'unused', text, file, line, option });
      continue;
    }
    const salts = prefix === '' ? [...context.judgedNames, ...context.saltNames] : [];
    const nearest = nearestName(name, [...Object.keys(table), ...salts]);
    const hint = nearest === undefined ? '' : `; did you mean '${prefix}${nearest}'?`;
    const text = `Unknown option '${option}' in ${file}, line ${line}${hint}`;
    context.warn({ kind: 'unknown', text, file, line, option });
  }
}
