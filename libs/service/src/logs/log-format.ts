import { percentFields, percentNumber, percentText, strftime, wallClock } from '@brine/wire/text';
import { LEVEL_NUMBERS } from './log-levels.ts';
import { type LevelName, type LogLine, messageOf } from './log-lines.ts';

/** Writes a line of a log, without a line end. */
export type LogFormatter = (line: LogLine) => string;

/** The forms of Salt's log options. */
export interface LogForms {
  /** `log_fmt_console` or `log_fmt_logfile`. */
  readonly format: string;
  /** `log_datefmt` or `log_datefmt_logfile`. */
  readonly dateFormat: string;
  /** `log_fmt_jid`. */
  readonly jid: string;
  /** `log_fmt_minion_id`. */
  readonly minionId: string;
}

/** A form of log lines that Python would refuse too. */
export class LogFormatError extends Error {
  override readonly name = 'LogFormatError';
}

type Value = string | number;
type Reader = (line: LogLine) => Value;

/** Conversions that a log line can have. */
const KINDS = 'sdiufF';
const PARTS_MAX = 100;
/** Widths above this would be a line of blanks. */
const WIDTH_MAX = 1000;
const PRECISION_MAX = 100;

const NUMBERS: Readonly<Record<LevelName, number>> = {
  TRACE: LEVEL_NUMBERS.trace,
  DEBUG: LEVEL_NUMBERS.debug,
  INFO: LEVEL_NUMBERS.info,
  WARNING: LEVEL_NUMBERS.warning,
  ERROR: LEVEL_NUMBERS.error,
  CRITICAL: LEVEL_NUMBERS.critical,
};

// salt/_logging/impl.py LOG_COLORS; the escapes are those of salt/utils/textformat.py.
const RESET = '\u001b[0;0m';
const NAME_COLOR = '\u001b[0;1;32m';
const PROCESS_COLOR = '\u001b[0;1;34m';
const COLORS: Readonly<Record<LevelName, readonly [level: string, message: string]>> = {
  TRACE: ['\u001b[0;1;35m', '\u001b[0;35m'],
  DEBUG: ['\u001b[0;1;36m', '\u001b[0;36m'],
  INFO: ['\u001b[0;1;32m', '\u001b[0;32m'],
  WARNING: ['\u001b[0;1;33m', '\u001b[0;33m'],
  ERROR: ['\u001b[0;1;31m', '\u001b[0;31m'],
  CRITICAL: ['\u001b[0;1;31m', '\u001b[0;1;31m'],
};

/**
 * Makes the writer of lines for Salt's `%(levelname)-8s` forms. Names are those of Python's log
 * records (docs.python.org, "LogRecord attributes"), of Salt (`bracketlevel`, `colormsg`, `jid`,
 * `minion_id`, …), and `trace_id`. Places in source code are unknown: `lineno` is 0 and the file
 * names are the service's. Throws LogFormatError for a form without a name, with an unknown name,
 * or with a conversion that Python does not know.
 */
export function logFormatter(forms: LogForms): LogFormatter {
  const fields = [...percentFields(forms.format)].filter((part) => typeof part !== 'string');
  const used = new Set(fields.flatMap(({ name }) => name ?? []));
  if (used.size === 0) throw new LogFormatError(`no %(name)s in '${forms.format}'`);
  const pieces = piecesOf(forms.format, readers(forms, used));
  return (line) => {
    let text = '';
    for (const piece of pieces) text += typeof piece === 'string' ? piece : piece(line);
    return text;
  };
}

function readers(forms: LogForms, used: ReadonlySet<string>): Readonly<Record<string, Reader>> {
  const jidForm = innerForm(forms.jid, 'jid');
  const minionForm = innerForm(forms.minionId, 'minion_id');
  // A field with a place of its own is not printed twice.
  const shown = new Set<string>();
  if (used.has('jid')) shown.add('jid');
  if (used.has('minion_id')) shown.add('minion');
  if (used.has('trace_id')) shown.add('trace_id');
  const startedMs = Date.now();
  const message: Reader = (line) => messageOf(line, shown);
  const field = (line: LogLine, name: string, form: (value: string) => string): string => {
    const value = line.fields.get(name);
    return value === undefined ? '' : form(value);
  };
  const service: Reader = (line) => line.service;
  const bracketName = (line: LogLine): string => `[${line.service.padEnd(17)}]`;
  const bracketLevel = (line: LogLine): string => `[${line.level.padEnd(8)}]`;
  const bracketProcess = (line: LogLine): string => `[${String(line.pid).padStart(5)}]`;
  return {
    name: service,
    levelno: (line) => NUMBERS[line.level],
    levelname: (line) => line.level,
    pathname: service,
    filename: service,
    module: service,
    funcName: () => '',
    lineno: () => 0,
    created: (line) => line.time.getTime() / 1000,
    asctime: clock(forms.dateFormat),
    msecs: (line) => line.time.getMilliseconds(),
    relativeCreated: (line) => line.time.getTime() - startedMs,
    thread: (line) => line.pid,
    threadName: () => 'MainThread',
    process: (line) => line.pid,
    processName: service,
    taskName: () => 'None',
    message,
    bracketname: bracketName,
    bracketlevel: bracketLevel,
    bracketprocess: bracketProcess,
    colorname: (line) => `${NAME_COLOR}${bracketName(line)}${RESET}`,
    colorlevel: (line) => `${COLORS[line.level][0]}${bracketLevel(line)}${RESET}`,
    colorprocess: (line) => `${PROCESS_COLOR}${bracketProcess(line)}${RESET}`,
    colormsg: (line) => `${COLORS[line.level][1]}${message(line)}${RESET}`,
    jid: (line) => field(line, 'jid', jidForm),
    minion_id: (line) => field(line, 'minion', minionForm),
    trace_id: (line) => field(line, 'trace_id', (value) => value),
  };
}

/** `log_fmt_jid` and `log_fmt_minion_id`: forms with one name in them. */
function innerForm(format: string, name: string): (value: string) => string {
  let value = '';
  const pieces = piecesOf(format, { [name]: () => value });
  return (given) => {
    value = given;
    return pieces.map((one) => (typeof one === 'string' ? one : one(undefined as never))).join('');
  };
}

/** Local time as `time.strftime` writes it: with its zone, and without microseconds. */
function localTime(format: string, time: Date): string {
  const minutes = -time.getTimezoneOffset();
  const hours = Math.trunc(Math.abs(minutes) / 60) * 100;
  const offset = String(hours + (Math.abs(minutes) % 60)).padStart(4, '0');
  const zone: Readonly<Record<string, string>> = {
    '%f': '%%f',
    '%z': `${minutes < 0 ? '-' : '+'}${offset}`,
    '%Z': /\((.+)\)/.exec(time.toString())?.[1] ?? '',
  };
  return strftime(
    wallClock(time),
    format.replaceAll(/%[fzZ%]/g, (part) => zone[part] ?? part),
  );
}

/** Local time, as Python's logging has it; most lines come within one second of the last. */
function clock(format: string): Reader {
  let second = NaN;
  let text = '';
  return ({ time }) => {
    const now = Math.floor(time.getTime() / 1000);
    if (now !== second) text = localTime(format, time);
    second = now;
    return text;
  };
}

function piecesOf(
  format: string,
  known: Readonly<Record<string, Reader>>,
): (string | ((line: LogLine) => string))[] {
  return [...percentFields(format)].map((part, at) => {
    if (typeof part === 'string') return part;
    const { name, flags, width = '0', precision, kind } = part;
    if (kind === '%' && name === undefined) return '%';
    if (name === undefined || kind === undefined) {
      throw new LogFormatError(`a % in '${format}' begins no %(name)s`);
    }
    const read = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!read) throw new LogFormatError(`unknown name '${name}' in '${format}'`);
    if (!KINDS.includes(kind) || width === '*' || precision === '*') {
      throw new LogFormatError(`a conversion of '${name}' in '${format}' is not supported`);
    }
    const size = precision === undefined ? undefined : Number(precision);
    const form = { flags, width: Number(width), precision: size, kind };
    if (form.width > WIDTH_MAX || at > PARTS_MAX || (size ?? 0) > PRECISION_MAX) {
      throw new LogFormatError(`'${format}' is too large`);
    }
    return (line) => {
      const value = read(line);
      const isText = kind === 's' || typeof value === 'string';
      return isText ? percentText(String(value), form) : percentNumber(value, form);
    };
  });
}
