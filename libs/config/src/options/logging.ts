import { integer, map, oneOf, text } from '../kinds.ts';

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

/** What is logged. */
export const loggingOptions = {
  log_level: oneOf(LOG_LEVELS, {
    default: 'warning',
    env: 'BRINE_LOG_LEVEL',
    doc: 'Lowest level that is logged.',
  }),
  log_level_logfile: oneOf([...LOG_LEVELS, ''], {
    default: '',
    doc: 'The same for the log file; that of log_level when empty.',
  }),
  log_fmt_console: text({ default: '', reserved: true, doc: 'Form of log lines.' }),
  log_fmt_logfile: text({ default: '', reserved: true, doc: 'Form of log lines in the file.' }),
  log_datefmt: text({ default: '', reserved: true, doc: 'Form of times.' }),
  log_datefmt_logfile: text({ default: '', reserved: true, doc: 'Form of times in the file.' }),
  log_granular_levels: map({ default: {}, reserved: true, doc: 'Levels by module.' }),
  log_rotate_max_bytes: integer({
    default: 0,
    min: 0,
    unit: 'bytes',
    doc: 'Size at which the log file is turned over; 0: never.',
  }),
  log_rotate_backup_count: integer({ default: 0, min: 0, doc: 'Old log files kept.' }),
} as const;
