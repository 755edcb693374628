import { spawn } from 'node:child_process';
import type { MasterOptions } from '@brine/config';
import { childEnvironment } from '@brine/environment';
import {
  type Batch,
  eventLine,
  type EventReturner,
  ReturnerError,
  ReturnerOptions,
} from '@brine/event-return';

/** The level names of Python's module `syslog`, which `logger` uses too. */
const LEVELS = ['EMERG', 'ALERT', 'CRIT', 'ERR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG'];
const FACILITIES = ['KERN', 'USER', 'MAIL', 'DAEMON', 'AUTH', 'LPR', 'NEWS', 'UUCP', 'CRON'].concat(
  ['SYSLOG', 'AUTHPRIV', 'FTP'],
  Array.from({ length: 8 }, (_, n) => `LOCAL${n}`),
);
/** Values of `syslog.options`; the others have no effect in a program that ends. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  LOG_PID: [`--id=${process.pid}`],
  LOG_PERROR: ['--stderr'],
  LOG_CONS: [],
  LOG_NDELAY: [],
  LOG_NOWAIT: [],
};

/** Most bytes of a message to a local syslog; longer events are split. */
const MESSAGE_BYTES = 65_536;
const TIMEOUT_MS = 30_000;
const SHOWN_CHARS = 300;
/** Salt's limit of `syslog.tag`. */
const TAG_CHARS = 32;

/** The program that sends; tests have another one. */
const PROGRAM = 'logger';

/**
 * Events as messages to the syslog of this host, through the program `logger` of util-linux: Node
 * has no sockets of the kind of /dev/log. The options are those of Salt's returner `syslog`.
 */
export class SyslogReturner implements EventReturner {
  readonly name = 'syslog';
  readonly keepsPlace = false;
  readonly #args: readonly string[];
  readonly #program: string;

  /** @throws ReturnerError `missing` for an unknown option of syslog */
  constructor(options: Pick<MasterOptions, 'written'>, program = PROGRAM) {
    this.#args = loggerArguments(options);
    this.#program = program;
  }

  open(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async write({ events }: Batch): Promise<undefined> {
    if (events.length > 0) await this.#log(events.map(eventLine).join(''));
  }

  async writeAgain(event: Batch['events'][number]): Promise<void> {
    await this.#log(eventLine(event));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #log(lines: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.#program, this.#args, {
        env: childEnvironment(process.env),
        stdio: ['pipe', 'ignore', 'pipe'],
        timeout: TIMEOUT_MS,
        killSignal: 'SIGKILL',
      });
      let line = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        line = (line + text).slice(0, SHOWN_CHARS);
      });
      // It ended before it read everything; `close` reports the reason.
      child.stdin.on('error', () => undefined);
      child.once('error', (error) => {
        reject(new ReturnerError('away', `${this.#program}: ${error.message}`, error));
      });
      child.once('close', (code, signal) => {
        if (code === 0) return resolve();
        const how = code === null ? `was ended by ${signal ?? 'a signal'}` : `ended with ${code}`;
        reject(new ReturnerError('away', `${this.#program} ${how}: ${line.trim()}`));
      });
      child.stdin.end(lines);
    });
  }
}

/** The arguments for the options of Salt's returner. @throws ReturnerError `missing` */
export function loggerArguments(from: Pick<MasterOptions, 'written'>): string[] {
  const options = new ReturnerOptions(from, 'syslog');
  const level = known(options.text('level') ?? 'LOG_INFO', 'level', LEVELS);
  const facility = known(options.text('facility') ?? 'LOG_USER', 'facility', FACILITIES);
  const tag = options.text('tag') ?? 'salt';
  if (tag.length > TAG_CHARS) {
    throw new ReturnerError('missing', `syslog.tag has more than ${TAG_CHARS} characters`);
  }
  const more = options.texts('options').flatMap((name) => {
    const found = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
    if (found === undefined) throw new ReturnerError('missing', `syslog.options: no ${name}`);
    return found;
  });
  const priority = `${facility}.${level}`;
  return [
    ...['--priority', priority, '--tag', tag, '--size', String(MESSAGE_BYTES)],
    // Otherwise a missing syslog would go unnoticed.
    '--socket-errors=on',
    ...more,
  ];
}

function known(name: string, option: string, names: readonly string[]): string {
  const word = name.startsWith('LOG_') ? name.slice('LOG_'.length) : '';
  if (!names.includes(word)) {
    throw new ReturnerError('missing', `syslog.${option}: syslog has no ${name}`);
  }
  return word.toLowerCase();
}
