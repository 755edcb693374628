import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { childEnvironment } from '@brine/environment';
import { OncePer, type Trouble } from '@brine/tasks';
import { LogFormatError } from './log-format.ts';
import type { LevelName } from './log-lines.ts';

/** The facilities of Python's SysLogHandler, by their numbers (RFC 5424). */
const FACILITIES: Readonly<Record<string, number>> = {
  KERN: 0,
  USER: 1,
  MAIL: 2,
  DAEMON: 3,
  AUTH: 4,
  SYSLOG: 5,
  LPR: 6,
  NEWS: 7,
  UUCP: 8,
  CRON: 9,
  AUTHPRIV: 10,
  FTP: 11,
  NTP: 12,
  SECURITY: 13,
  CONSOLE: 14,
  SOLCRON: 15,
  LOCAL0: 16,
  LOCAL1: 17,
  LOCAL2: 18,
  LOCAL3: 19,
  LOCAL4: 20,
  LOCAL5: 21,
  LOCAL6: 22,
  LOCAL7: 23,
};

/** As Python's SysLogHandler maps levels. */
const SEVERITIES: Readonly<Record<LevelName, number>> = {
  CRITICAL: 2,
  ERROR: 3,
  WARNING: 4,
  INFO: 6,
  DEBUG: 7,
  TRACE: 7,
};

const DEFAULT_FACILITY = 'LOG_USER';
/** Salt: SYSLOG_UDP_PORT of Python's logging.handlers, for TCP too. */
const DEFAULT_PORT = 514;
/** A longer line is split, in bytes. */
const MESSAGE_BYTES = 65_536;
/** Bytes that may wait for a syslog that does not read; further lines are lost and counted. */
const WAITING_MAX_BYTES = 1_048_576;
/** The shortest time before an ended program is started again, ms. */
const AGAIN_MS = 5_000;
/** The shortest time between two reports of trouble, ms. */
const TROUBLE_EVERY_MS = 300_000;
const SHOWN_CHARS = 300;
/** From util-linux, which nearly every host with a syslog has. Node has no sockets of this kind. */
const PROGRAM = 'logger';

/** True if `log_file` names a syslog and no file. */
export function isSyslog(logFile: string): boolean {
  return /^(?:file|udp|tcp):\/\//.test(logFile);
}

/** The address of a syslog. */
export interface SyslogPlace {
  readonly facility: number;
  /** Arguments of `logger`. */
  readonly args: readonly string[];
}

/**
 * Reads `file:///dev/log/LOG_DAEMON`, `udp://host:port/LOG_USER` or `tcp://host` as Salt does
 * (salt/_logging/impl.py setup_logfile_handler).
 * @throws LogFormatError
 */
export function syslogPlace(address: string, tag: string): SyslogPlace {
  if (!URL.canParse(address))
    throw new LogFormatError(`log_file: ${address} is no address of a syslog`);
  const url = new URL(address);
  const { protocol } = url;
  const common = ['--tag', tag, '--size', String(MESSAGE_BYTES), '--prio-prefix'];
  const path = decodeURIComponent(url.pathname);
  const word = path.slice(path.lastIndexOf('/') + 1).toUpperCase();
  if (protocol === 'file:') {
    const isNamed = word.startsWith('LOG_');
    const socket = isNamed ? path.slice(0, path.lastIndexOf('/')) : path;
    const facility = facilityOf(isNamed ? word : DEFAULT_FACILITY, address);
    // Without the last one an unreachable syslog would not be noticed.
    return { facility, args: [...common, '--socket', socket, '--socket-errors=on'] };
  }
  const facility = facilityOf(word === '' ? DEFAULT_FACILITY : word, address);
  if (url.hostname === '') throw new LogFormatError(`log_file: ${address} names no host`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const to = ['--server', host, '--port', String(url.port || DEFAULT_PORT)];
  const how = protocol === 'tcp:' ? '--tcp' : '--udp';
  return { facility, args: [...common, ...to, how, '--rfc3164'] };
}

function facilityOf(word: string, address: string): number {
  const name = word.startsWith('LOG_') ? word.slice('LOG_'.length) : '';
  const found = Object.hasOwn(FACILITIES, name) ? FACILITIES[name] : undefined;
  if (found !== undefined) return found;
  throw new LogFormatError(`log_file: ${address}: syslog has no facility ${word}`);
}

/** Sends lines to a syslog by one running `logger`. Never throws; reports trouble at intervals. */
export class SyslogLines {
  readonly #place: SyslogPlace;
  readonly #onTrouble: Trouble;
  #logger: ChildProcessByStdio<Writable, null, Readable> | undefined;
  #againAt = 0;
  #lost = 0;
  readonly #troubles = new OncePer(TROUBLE_EVERY_MS);

  constructor(place: SyslogPlace, onTrouble: Trouble) {
    this.#place = place;
    this.#onTrouble = onTrouble;
  }

  /** @param text a line with its end */
  write(text: string, level: LevelName): void {
    const stdin = this.#input();
    if (stdin === undefined || stdin.writableLength > WAITING_MAX_BYTES) {
      this.#lost += 1;
      return;
    }
    stdin.write(`<${this.#place.facility * 8 + SEVERITIES[level]}>${text}`);
  }

  /** Lets the program send its lines, and ends it. */
  close(): void {
    this.#logger?.stdin.end();
    this.#logger = undefined;
  }

  #input(): Writable | undefined {
    if (this.#logger !== undefined) return this.#logger.stdin;
    if (performance.now() < this.#againAt) return undefined;
    this.#againAt = performance.now() + AGAIN_MS;
    // In a group of its own: Ctrl-C must not end it before the last lines.
    const logger = spawn(PROGRAM, this.#place.args, {
      env: childEnvironment(process.env),
      stdio: ['pipe', 'ignore', 'pipe'],
      detached: true,
    });
    let shown = '';
    logger.stderr.setEncoding('utf8').on('data', (text: string) => {
      shown = (shown + text).slice(0, SHOWN_CHARS);
      // A line may come in pieces.
      const [line = '', ...rest] = shown.split('\n');
      if (rest.length > 0 || shown.length === SHOWN_CHARS) this.#report(line.trim());
    });
    logger.stdin.on('error', () => undefined); // It ended; `close` reports that.
    logger.once('error', (error) => this.#ended(logger, error.message));
    logger.once('close', () => this.#ended(logger, shown.trim() || 'it ended'));
    logger.unref();
    this.#logger = logger;
    return this.#reportLost(logger.stdin);
  }

  #ended(logger: object, why: string): void {
    if (this.#logger !== logger) return;
    this.#logger = undefined;
    this.#report(why);
  }

  /** Sends the syslog a line about the lines that it missed. */
  #reportLost(stdin: Writable): Writable {
    const lost = this.#lost;
    this.#lost = 0;
    const priority = this.#place.facility * 8 + SEVERITIES.WARNING;
    if (lost > 0) stdin.write(`<${priority}>${lost} lines of the log were lost before this one\n`);
    return stdin;
  }

  #report(why: string): void {
    if (this.#troubles.pass() > 0) this.#onTrouble(`log_file, by ${PROGRAM}: ${why}`);
  }
}
