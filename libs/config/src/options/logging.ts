import { integer, map, oneOf, text } from '../kinds.ts';
import { type ConfigValue, Misfit, type Option } from '../option.ts';

/** Salt's log levels (salt/_logging/impl.py), from all to nothing. */
export const LOG_LEVELS = [
  'all',
  'garbage',
  'trace',
  'debug',
  'profile',
  'info',
  'warning',
  'error',
  'critical',
  'quiet',
] as const;

/** One of Salt's log levels. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Logging. */
export const loggingOptions = {
  log_level: level(LOG_LEVELS, {
    default: 'warning',
    env: 'BRINE_LOG_LEVEL',
    doc: 'Lowest level that is logged.',
  }),
  log_level_logfile: level([...LOG_LEVELS, ''], {
    default: '',
    doc: 'Lowest level that is written to the log file. That of log_level when empty.',
  }),
  log_fmt_console: form({
    default: '[%(levelname)-8s] %(message)s',
    doc: 'Form of log lines on the console, with the names that Salt has for the parts of a line.',
  }),
  log_fmt_logfile: form({
    default:
      '%(asctime)s,%(msecs)03d [%(name)-17s:%(lineno)-4d][%(levelname)-8s][%(process)d] ' +
      '%(message)s',
    doc: 'Form of log lines in the file.',
  }),
  log_fmt_jid: form({ default: '[JID: %(jid)s]', doc: 'What `%(jid)s` is in a line of a job.' }),
  log_fmt_minion_id: form({
    default: '[%(minion_id)s]',
    doc: 'What `%(minion_id)s` is in a line about a minion.',
  }),
  log_datefmt: form({ default: '%H:%M:%S', doc: 'Form of `%(asctime)s` on the console.' }),
  log_datefmt_logfile: form({
    default: '%Y-%m-%d %H:%M:%S',
    doc: 'Form of `%(asctime)s` in the file.',
  }),
  log_granular_levels: levels({
    default: {},
    doc: 'Lowest level by part: a service (`publisher`), one of its replicas, or `salt`.',
  }),
  log_rotate_max_bytes: integer({
    default: 0,
    min: 0,
    unit: 'bytes',
    doc: 'Size at which the log file is rotated. 0: never.',
  }),
  log_rotate_backup_count: integer({ default: 0, min: 0, doc: 'Old log files kept.' }),
} as const;

/** A level, which Salt takes in upper case too (salt/_logging/impl.py). */
function level<const V extends string>(
  values: readonly V[],
  field: Parameters<typeof oneOf<V>>[1],
): Option<V> {
  const option = oneOf(values, field);
  const lower = (value: ConfigValue): ConfigValue =>
    typeof value === 'string' ? value.toLowerCase() : value;
  return { ...option, read: (value) => option.read(lower(value)) };
}

/** A text; Salt's default replaces an empty one (salt/_logging/impl.py). */
function form(field: { readonly default: string; readonly doc: string }): Option<string> {
  const option = text(field);
  return { ...option, read: (value) => (value === '' ? field.default : option.read(value)) };
}

/** Levels by name. Any key is accepted: stock files name Python modules. */
function levels(field: {
  readonly default: Readonly<Record<string, LogLevel>>;
  readonly doc: string;
}): Option<Readonly<Record<string, LogLevel>>> {
  const option = map(field);
  const read: Option<Readonly<Record<string, LogLevel>>>['read'] = (value) => {
    const given = option.read(value);
    if (given instanceof Misfit) return given;
    const out = Object.create(null) as Record<string, LogLevel>;
    for (const [name, word] of Object.entries(given)) {
      const level = LOG_LEVELS.find(
        (one) => typeof word === 'string' && one === word.toLowerCase(),
      );
      if (level === undefined) return new Misfit(`a map of names to ${LOG_LEVELS.join(', ')}`);
      out[name] = level;
    }
    return out;
  };
  return { ...option, default: field.default, read };
}
