/** Salt's names of levels (salt/_logging), by pino's. */
const LEVELS: Readonly<Record<string, string>> = {
  trace: 'TRACE',
  debug: 'DEBUG',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
  fatal: 'CRITICAL',
};

/** Fields that are shown elsewhere in the line, or are of no use to a person. */
const LEFT_OUT = new Set(['level', 'time', 'service', 'msg', 'err']);

/** A line of a service's log, taken apart. */
export interface LogLine {
  readonly service: string;
  readonly level: string;
  readonly time: string;
  /** The message and its fields, in one line. */
  readonly text: string;
}

/**
 * Takes a line of a service apart: a JSON line of our log, or anything else that a process writes
 * when it dies, which counts as an error.
 */
export function readLogLine(service: string, line: string, now: () => Date): LogLine {
  const fields = parseObject(line);
  if (!fields) return { service, level: 'ERROR', time: now().toISOString(), text: line };
  const level = LEVELS[String(fields['level'])] ?? 'INFO';
  const time = typeof fields['time'] === 'string' ? fields['time'] : now().toISOString();
  const pairs = Object.entries(fields)
    .filter(([key]) => !LEFT_OUT.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const message = typeof fields['msg'] === 'string' ? fields['msg'] : '';
  const text = [message, ...pairs, ...errorText(fields['err'])].join(' ');
  return { service, level, time, text: text.trim() };
}

/** As Salt's log_fmt_console: `[WARNING ] text`, with the service before the text. */
export function consoleLine({ service, level, text }: LogLine): string {
  return `[${level.padEnd(8)}] [${service}] ${text}\n`;
}

/** As Salt's log_fmt_logfile: time, name, level. */
export function fileLine({ service, level, time, text }: LogLine): string {
  const stamp = time.replace('T', ' ').replace('.', ',').replace('Z', '');
  return `${stamp} [${service.padEnd(17)}][${level.padEnd(8)}] ${text}\n`;
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    // Not ours: it is shown as it is.
    return undefined;
  }
}

function errorText(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { type, message, stack } = error as Record<string, unknown>;
  const place = typeof stack === 'string' ? /\n\s+at (.*)/.exec(stack)?.[1] : undefined;
  const name = typeof type === 'string' ? `${type}: ` : '';
  const text = typeof message === 'string' ? message : JSON.stringify(error);
  return [`(${name}${text}${place === undefined ? '' : `, at ${place}`})`];
}
