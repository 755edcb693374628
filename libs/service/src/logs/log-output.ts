import type { LogLevel } from '@brine/config';
import { LogFile } from './log-file.ts';
import { LogFormatError, type LogFormatter, logFormatter, type LogForms } from './log-format.ts';
import { laxerLevel, LEVEL_NUMBERS, partLevel } from './log-levels.ts';
import { jsonLine, type LogSource, readLogLine } from './log-lines.ts';

/** The options of master and minion that say what is logged, where, and in which form. */
export interface LogOutputOptions {
  readonly logFile: string;
  /** Of the syndic-relay, in place of the other; absent or empty: none of its own. */
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

/** Where the lines of services go. */
export interface LogOutput {
  /** Lowest level that a part has to write, so that console and file get what they ask for. */
  readonly levelOf: (part: string) => LogLevel;
  /** Takes a line as a service wrote it. Never throws. */
  readonly write: (source: LogSource, line: string) => void;
}

interface Target {
  readonly lowest: number;
  readonly format: LogFormatter;
  readonly put: (text: string, service: string) => void;
}

/** The service that has a log file of its own where salt-syndic has one. */
const RELAY = 'syndic-relay';

const SYSLOG = /^(?:file|udp|tcp):\/\//;

/**
 * Opens console and log file as Salt does: `log_level` for the one, `log_level_logfile` for the
 * other, `log_granular_levels` for the parts. `tell` gets what is wrong with the outputs.
 * Throws LogFormatError, with the option's name, where a form of lines can not be used.
 */
export function openLogOutput(
  options: LogOutputOptions,
  console: (text: string) => void,
  tell: (text: string) => void,
  now: () => Date = () => new Date(),
): LogOutput {
  const fileLevel = options.logLevelLogfile === '' ? options.logLevel : options.logLevelLogfile;
  const inner = { jid: options.logFmtJid, minionId: options.logFmtMinionId };
  const targets: Target[] = [
    {
      lowest: LEVEL_NUMBERS[options.logLevel],
      format: formatter('log_fmt_console', {
        format: options.logFmtConsole,
        dateFormat: options.logDatefmt,
        ...inner,
      }),
      put: console,
    },
  ];
  const fileFormat = formatter('log_fmt_logfile', {
    format: options.logFmtLogfile,
    dateFormat: options.logDatefmtLogfile,
    ...inner,
  });
  if (SYSLOG.test(options.logFile)) {
    tell(`log_file: ${options.logFile} is not served, lines go to the console only`);
  } else if (fileLevel !== 'quiet') {
    const open = (path: string): LogFile =>
      new LogFile({
        path,
        maxBytes: options.logRotateMaxBytes,
        backups: options.logRotateBackupCount,
        onTrouble: (error) => tell(`log file: ${(error as Error).message}`),
      });
    const file = open(options.logFile);
    const relayFile = options.syndicLogFile ? open(options.syndicLogFile) : file;
    const put = (text: string, service: string): void =>
      (service === RELAY ? relayFile : file).write(text);
    targets.push({ lowest: LEVEL_NUMBERS[fileLevel], format: fileFormat, put });
  }
  const floor = laxerLevel(options.logLevel, fileLevel);
  const json = options.brine.logFormat === 'json';

  const write = (source: LogSource, line: string): void => {
    const read = readLogLine(source, line, now);
    const level = LEVEL_NUMBERS[read.level.toLowerCase() as LogLevel];
    for (const { lowest, format, put } of targets) {
      if (level < lowest) continue;
      put(`${json ? jsonLine(source, line, now) : format(read)}\n`, source.service);
    }
  };
  return { levelOf: (part) => partLevel(part, floor, options.logGranularLevels), write };
}

function formatter(option: string, forms: LogForms): LogFormatter {
  try {
    return logFormatter(forms);
  } catch (error) {
    if (!(error instanceof LogFormatError)) throw error;
    throw new LogFormatError(`${option}: ${error.message}`, { cause: error });
  }
}
