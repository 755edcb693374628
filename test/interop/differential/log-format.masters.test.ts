import { join } from 'node:path';
import { masterOptions } from '@brine/config';
import { LogFormatError, type LogOutputOptions, openLogOutput } from '@brine/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askSalt } from './target-oracle.ts';

const ORACLE = join(import.meta.dirname, 'log-format-oracle.py');

const FORMATS = [
  masterOptions.log_fmt_console.default,
  masterOptions.log_fmt_logfile.default,
  // Those that Salt's own master file shows.
  '%(colorlevel)s %(colormsg)s',
  '[%(levelname)-8s] %(message)s %(jid)s',
  '%(asctime)s,%(msecs)03d [%(name)-17s][%(levelname)-8s] %(message)s',
  '%(colorprocess)s %(colorname)s %(bracketprocess)s %(bracketname)s%(bracketlevel)s %(message)s',
  '%(minion_id)s%(jid)10s|%(message).5s|%(message)40s|%(message)-40s|',
  '%(process)08d|%(process)-8d|%(process)+d|%(process) d|%(levelno)5.2f|%(msecs)d',
  '100%% %(levelno)s %(name)20.9s %(threadName)s',
  '%(process)+08d|%(lineno)-4d|%(lineno)04d|%(process).8d|%(created)f',
  // Refused.
  'nothing',
  '%(message)s 100%',
  '%(nobody)s',
  '%(message)d',
];
const DATES = [
  '%H:%M:%S',
  '%Y-%m-%d %H:%M:%S',
  '%d/%b/%y %I:%M %p %j',
  '%a %A %b %B %e %%c',
  '%c',
  '%x %X',
  '%F %T %D %R',
  '%z',
  '%s',
];
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
const SALT_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;
const JID = '20261120201000123456';
const ZONE = process.env['TZ'];

beforeAll(() => void (process.env['TZ'] = 'Asia/Kolkata'));
afterAll(() => {
  if (ZONE === undefined) delete process.env['TZ'];
  else process.env['TZ'] = ZONE;
});

test("log lines are those that Salt's records and Python's formatter write", async () => {
  const cases = FORMATS.flatMap((format, f) =>
    [...DATES, ...LEVELS].map((_, at) => ({
      format,
      dateFormat: DATES[at % DATES.length]!,
      pino: LEVELS[(at + f) % LEVELS.length]!,
      level: SALT_LEVELS[(at + f) % LEVELS.length]!,
      name: ['publisher', 'job-cache-returner'][at % 2]!,
      message: ['it serves', 'größer 🧂 than'][at % 2]!,
      jid: at % 3 === 0 ? '' : JID,
      minion: 'web-1',
      pid: [7, 43210][at % 2]!,
      ms: Date.UTC(2026, (at * 5) % 12, 1 + at, at, 59, 7, 5),
      logFmtJid: '[JID: %(jid)s]',
      logFmtMinionId: '[%(minion_id)s]',
    })),
  );
  const answers = (await askSalt(cases, ORACLE)) as { text?: string; refused?: string }[];
  const different = cases.flatMap((one, at) => {
    const ours = brineLine(one);
    const salts = answers[at]?.text;
    return ours === salts ? [] : [{ format: one.format, date: one.dateFormat, salts, ours }];
  });
  // A text for %d is Python's TypeError at each line; ours shows the text.
  expect(different.filter(({ format }) => format !== '%(message)d')).toEqual([]);
  expect(answers.filter(({ refused }) => refused !== undefined).length).toBe(4 * 15);
});

/** The line that `brine master` writes to its console; undefined where the form is refused. */
function brineLine(one: {
  readonly format: string;
  readonly dateFormat: string;
  readonly pino: string;
  readonly name: string;
  readonly message: string;
  readonly jid: string;
  readonly minion: string;
  readonly pid: number;
  readonly ms: number;
  readonly logFmtJid: string;
  readonly logFmtMinionId: string;
}): string | undefined {
  const { logFmtJid, logFmtMinionId, dateFormat: logDatefmt, format: logFmtConsole } = one;
  const options: LogOutputOptions = {
    logFile: '/dev/null',
    logLevel: 'all',
    logLevelLogfile: 'quiet',
    logFmtConsole,
    logFmtLogfile: '%(message)s',
    logFmtJid,
    logFmtMinionId,
    logDatefmt,
    logDatefmtLogfile: '',
    logGranularLevels: {},
    logRotateMaxBytes: 0,
    logRotateBackupCount: 0,
    brine: { logFormat: 'text' },
  };
  let text = '';
  try {
    const put = (line: string): void => void (text += line);
    const output = openLogOutput(options, put, put);
    const time = new Date(one.ms).toISOString();
    // A field that a form has no place for would stand behind the message, as Salt has none there.
    const jid = one.jid !== '' && logFmtConsole.includes('%(jid)') ? { jid: one.jid } : {};
    const minion = logFmtConsole.includes('%(minion_id)') ? { minion: one.minion } : {};
    const line = { level: one.pino, time, msg: one.message, ...jid, ...minion };
    output.write({ service: one.name, pid: one.pid }, JSON.stringify(line));
  } catch (error) {
    if (!(error instanceof LogFormatError)) throw error;
    return undefined;
  }
  return text.slice(0, -1);
}
