import type { LogLevel } from '@brine/config';
import { LogFile } from './log-file.ts';
import { LogFormatError, type LogFormatter, logFormatter, type LogForms } from './log-format.ts';
import { laxerLevel, LEVEL_NUMBERS, partLevel } from './log-levels.ts';
import { jsonLine, type LevelName, type LogSource, readLogLine } from './log-lines.ts';
import { isSyslog, SyslogLines, syslogPlace } from './syslog.ts';

/** The options of master and minion for the content, targets and form of the log. */
export interface LogOutputOptions {
  readonly logFile: string;
  /** The name of the lines in a syslog; default `salt-master`. */
  readonly logTag?: string;
  /** The log file of the syndic-relay, in place of the other; absent or empty: the same file. */
  readonly syndicLogFile?: string;
  readonly logLevel: LogLevel;
  readonly logLevelLogfile: LogLevel | '';
  readonly logFmtConsole: string;
  readonly logFmtLogfile: string;
  readonly logFmtJid: string;
  readonly logFmtMinionId: string;
  readonly logDatefmt: string;
  readonly logDatefmtLogfile: string;
  readonly logGranularLevels: Readonly<Record<string, LogLevel>>;
  readonly logRotateMaxBytes: number;
  readonly logRotateBackupCount: number;
  readonly brine: { readonly logFormat: 'text' | 'json' };
}

/** The target of the lines of services. */
export interface LogOutput {
  /** Lowest level that a part has to write, so that console and file get their levels. */
  readonly levelOf: (part: string) => LogLevel;
  /** Takes a line as a service wrote it. Never throws. */
  readonly write: (source: LogSource, line: string) => void;
  /**
   * Opens the outputs again, with new options if given. If it throws LogFormatError, the old
   * outputs remain.
   */
  readonly reopen: (options?: LogOutputOptions) => void;
  /** Sends the rest to a syslog. Write nothing after it. */
  readonly close: () => void;
}

interface Target {
  readonly lowest: number;
  readonly format: LogFormatter;
  readonly put: (text: string, service: string, level: LevelName) => void;
  readonly close?: () => void;
}

/** The outputs of a set of options. */
interface Outputs {
  readonly floor: LogLevel;
  readonly granular: LogOutputOptions['logGranularLevels'];
  readonly isJson: boolean;
  readonly targets: readonly Target[];
}

/** The service with a log file of its own, as salt-syndic has one. */
const RELAY = 'syndic-relay';

/** The name of a master's lines in a syslog. */
const TAG = 'salt-master';

/**
 * Opens console and log file as Salt does: `log_level` for the one, `log_level_logfile` for the
 * other, `log_granular_levels` for the parts. `tell` gets faults of the outputs. Throws
 * LogFormatError, with the option's name, if a form of lines or the syslog of `log_file` is
 * invalid.
 */
export function openLogOutput(
  options: LogOutputOptions,
  console: (text: string) => void,
  warn: (text: string) => void,
  now: () => Date = () => new Date(),
): LogOutput {
  let given = options;
  let outputs = outputsOf(given, console, warn);
  const close = (): void => outputs.targets.forEach((target) => target.close?.());
  const write = (source: LogSource, line: string): void => {
    const read = readLogLine(source, line, now);
    const level = LEVEL_NUMBERS[read.level.toLowerCase() as LogLevel];
    for (const { lowest, format, put } of outputs.targets) {
      if (level < lowest) continue;
      const text = outputs.isJson ? jsonLine(source, line, now) : format(read);
      put(`${text}\n`, source.service, read.level);
    }
  };
  return {
    levelOf: (part) => partLevel(part, outputs.floor, outputs.granular),
    write,
    reopen: (other = given) => {
      const next = outputsOf(other, console, warn);
      close();
      [given, outputs] = [other, next];
    },
    close,
  };
}

function outputsOf(
  options: LogOutputOptions,
  console: (text: string) => void,
  warn: (text: string) => void,
): Outputs {
  const fileLevel = options.logLevelLogfile === '' ? options.logLevel : options.logLevelLogfile;
  const inner = { jid: options.logFmtJid, minionId: options.logFmtMinionId };
  const onConsole: Target = {
    lowest: LEVEL_NUMBERS[options.logLevel],
    format: formatter('log_fmt_console', {
      format: options.logFmtConsole,
      dateFormat: options.logDatefmt,
      ...inner,
    }),
    put: console,
  };
  const format = formatter('log_fmt_logfile', {
    format: options.logFmtLogfile,
    dateFormat: options.logDatefmtLogfile,
    ...inner,
  });
  const inFile = { lowest: LEVEL_NUMBERS[fileLevel], format, ...fileOf(options, warn) };
  return {
    floor: laxerLevel(options.logLevel, fileLevel),
    granular: options.logGranularLevels,
    isJson: options.brine.logFormat === 'json',
    targets: fileLevel === 'quiet' ? [onConsole] : [onConsole, inFile],
  };
}

/** The log file, or the syslog in its place. It is opened at the first line. */
function fileOf(
  options: LogOutputOptions,
  warn: (text: string) => void,
): Pick<Target, 'put' | 'close'> {
  if (isSyslog(options.logFile)) {
    const lines = new SyslogLines(syslogPlace(options.logFile, options.logTag ?? TAG), warn);
    return { put: (text, _service, level) => lines.write(text, level), close: () => lines.close() };
  }
  const open = (path: string): LogFile =>
    new LogFile({
      path,
      maxBytes: options.logRotateMaxBytes,
      backups: options.logRotateBackupCount,
      onTrouble: (error) => warn(`log file: ${(error as Error).message}`),
    });
  const file = open(options.logFile);
  const relayFile = options.syndicLogFile ? open(options.syndicLogFile) : file;
  return { put: (text, service) => (service === RELAY ? relayFile : file).write(text) };
}

function formatter(option: string, forms: LogForms): LogFormatter {
  try {
    return logFormatter(forms);
  } catch (error) {
    if (!(error instanceof LogFormatError)) throw error;
    throw new LogFormatError(`${option}: ${error.message}`, { cause: error });
  }
}
