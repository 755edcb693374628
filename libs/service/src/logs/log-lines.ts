/** Salt's names of levels (salt/_logging), by pino's. */
const LEVELS: Readonly<Record<string, LevelName>> = {
  trace: 'TRACE',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

/** A level as a log line shows it. */
export type LevelName = 'TRACE' | 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR' | 'CRITICAL';

/** Fields with a place of their own in a line, or of no use to a person. */
const LEFT_OUT = new Set(['level', 'time', 'service', 'msg', 'err']);

/** A parsed line of a service's log. */
export interface LogLine {
  readonly service: string;
  readonly pid: number;
  readonly level: LevelName;
  readonly time: Date;
  /** The message, without the fields. */
  readonly message: string;
  /** The other fields, shown as text, in their order. */
  readonly fields: ReadonlyMap<string, string>;
  /** The error with its place; empty if none. */
  readonly error: string;
}

/** The process that wrote a line. */
export interface LogSource {
  readonly service: string;
  readonly pid: number;
}

/**
 * Parses a line of a service: a JSON line of our log, or any text that a dying process writes,
 * which counts as an error.
 */
export function readLogLine(source: LogSource, line: string, now: () => Date): LogLine {
  const { service, pid } = source;
  const object = parseObject(line);
  if (!object) {
    const message = printable(line);
    return { service, pid, level: 'ERROR', time: now(), message, fields: new Map(), error: '' };
  }
  const fields = new Map<string, string>();
  for (const [key, value] of Object.entries(object)) {
    if (LEFT_OUT.has(key)) continue;
    fields.set(key, printable(typeof value === 'string' ? value : JSON.stringify(value)));
  }
  const { level, time, msg, err } = object;
  const written = typeof time === 'string' ? new Date(time) : now();
  return {
    service,
    pid,
    level: LEVELS[String(level)] ?? 'INFO',
    time: Number.isNaN(written.getTime()) ? now() : written,
    message: typeof msg === 'string' ? printable(msg) : '',
    fields,
    error: errorText(err),
  };
}

/** The message with its fields, except those with a place of their own in the line's form. */
export function messageOf({ message, fields, error }: LogLine, shown: ReadonlySet<string>): string {
  let text = message;
  for (const [key, value] of fields) if (!shown.has(key)) text += ` ${key}=${value}`;
  if (error !== '') text += ` ${error}`;
  return text.trim();
}

/** A line as a JSON object, whichever program wrote it. */
export function jsonLine(source: LogSource, line: string, now: () => Date): string {
  if (parseObject(line)) return line;
  const { service, pid } = source;
  return JSON.stringify({ level: 'error', time: now().toISOString(), service, pid, msg: line });
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    // Not a line of our log: it is shown as it is.
    return undefined;
  }
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { type, message, stack } = error as Record<string, unknown>;
  const place = typeof stack === 'string' ? /\n\s+at (.*)/.exec(stack)?.[1] : undefined;
  const name = typeof type === 'string' ? `${type}: ` : '';
  const text = typeof message === 'string' ? message : JSON.stringify(error);
  return printable(`(${name}${text}${place === undefined ? '' : `, at ${place}`})`);
}

/** A minion's id in an error text must neither begin a new line nor control the terminal. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029]/g, (char) =>
    char === '\n' ? '\\n' : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
