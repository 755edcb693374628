import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { masterOptions } from '@brine/config';
import { expect, test } from 'vitest';
import { LogFile } from './log-file.ts';
import { type LogOutputOptions, openLogOutput } from './log-output.ts';

const NOW = () => new Date(2026, 10, 20, 20, 10, 0, 123);
const JID = '20261120201000123456';
const PUBLISHER = { service: 'publisher', pid: 42 };
const OPTIONS: LogOutputOptions = {
  logFile: '/dev/null',
  logLevel: 'warning',
  logLevelLogfile: '',
  logFmtConsole: masterOptions.log_fmt_console.default,
  logFmtLogfile: masterOptions.log_fmt_logfile.default,
  logFmtJid: masterOptions.log_fmt_jid.default,
  logFmtMinionId: masterOptions.log_fmt_minion_id.default,
  logDatefmt: masterOptions.log_datefmt.default,
  logDatefmtLogfile: masterOptions.log_datefmt_logfile.default,
  logGranularLevels: {},
  logRotateMaxBytes: 0,
  logRotateBackupCount: 0,
  brine: { logFormat: 'text' },
};

/** What console and file get of these lines. */
function logged(lines: readonly string[], options: Partial<LogOutputOptions> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'brine-log-'));
  try {
    const told: string[] = [];
    let console = '';
    const logFile = join(dir, 'master');
    const output = openLogOutput(
      { ...OPTIONS, logFile, ...options },
      (text) => (console += text),
      (text) => void told.push(text),
      NOW,
    );
    for (const line of lines) output.write(PUBLISHER, line);
    const file = existsSync(logFile) ? readFileSync(logFile, 'utf8') : undefined;
    return { console, file, told };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function json(fields: object): string {
  return JSON.stringify({ level: 'warn', time: NOW().toISOString(), service: 'x', ...fields });
}

const LINE = json({
  jid: JID,
  minion: 'web-1',
  trace_id: 'abc',
  count: 2,
  err: { type: 'Error', message: 'no', stack: 'Error: no\n    at open (file.ts:1:2)\n    at x' },
  msg: 'not sent',
});
const ERROR = '(Error: no, at open (file.ts:1:2))';

test("a line of a service reads as Salt's defaults have it, on the console and in the file", () => {
  const text = `not sent jid=${JID} minion=web-1 trace_id=abc count=2 ${ERROR}\n`;
  const { console, file } = logged([LINE]);
  expect(console).toBe(`[WARNING ] ${text}`);
  expect(file).toBe(`2026-11-20 20:10:00,123 [publisher        :0   ][WARNING ][42] ${text}`);
});

test('jid, minion and trace take the places that a form has for them, in the form of Salt', () => {
  const { console } = logged([LINE, json({ msg: 'of no job' })], {
    logFmtConsole: '%(bracketlevel)s%(jid)s%(minion_id)s<%(trace_id)s> %(message)s',
  });
  expect(console.split('\n')).toEqual([
    `[WARNING ][JID: ${JID}][web-1]<abc> not sent count=2 ${ERROR}`,
    '[WARNING ]<> of no job',
    '',
  ]);
});

test('console and file have levels of their own, quiet is no file, a part may be stricter', () => {
  const lines = ['debug', 'info', 'error'].map((level) => json({ level, msg: level }));
  const { console, file } = logged(lines, { logLevel: 'error', logLevelLogfile: 'info' });
  expect(console.match(/\w+$/gm)).toEqual(['error']);
  expect(file?.match(/\w+$/gm)).toEqual(['info', 'error']);
  expect(logged(lines, { logLevelLogfile: 'quiet' }).file).toBe(undefined);
  const granular = { salt: 'warning', publisher: 'trace', 'salt.worker-pool': 'error' } as const;
  const options = { ...OPTIONS, logLevelLogfile: 'debug', logGranularLevels: granular } as const;
  const output = openLogOutput(
    options,
    () => undefined,
    () => undefined,
  );
  const parts = ['publisher', 'worker-pool-2', 'event-bus'];
  // Parts write nothing that no output takes: the file takes debug, not trace.
  expect(parts.map((part) => output.levelOf(part))).toEqual(['debug', 'error', 'warning']);
});

test('as json the lines go out as they came, and what is none is made one', () => {
  const { console, file } = logged([LINE, 'Segmentation fault'], {
    brine: { logFormat: 'json' },
  });
  const [first, second] = console.split('\n');
  expect(first).toBe(LINE);
  expect(JSON.parse(second ?? '')).toEqual({
    level: 'error',
    time: NOW().toISOString(),
    ...PUBLISHER,
    msg: 'Segmentation fault',
  });
  expect(file).toBe(console);
});

test('a line that is no JSON is shown, and no text forges a line or steers the terminal', () => {
  const forged = json({ level: 'error', msg: 'bad id', id: 'a\n[ERROR   ] root\u001b[2J' });
  expect(logged(['{broken', forged]).console).toBe(
    '[ERROR   ] {broken\n[ERROR   ] bad id id=a\\n[ERROR   ] root\\x1b[2J\n',
  );
});

test('a time is that of the local zone, as time.strftime of Python writes it', () => {
  const zone = process.env['TZ'];
  try {
    process.env['TZ'] = 'Asia/Kolkata';
    const at = json({ level: 'error', msg: 'm', time: '2026-01-01T20:10:00.123Z' });
    const options = { logFmtConsole: '%(asctime)s', logDatefmt: '%c %z %j %G-%V %f %%z' };
    expect(logged([at], options).console).toBe(
      'Fri Jan  2 01:40:00 2026 +0530 002 2026-01 %f %z\n',
    );
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
});

test('a form that Python refuses is refused with the name of its option', () => {
  const bad = ['no name', '%(nobody)s', '%(message)s 100%', '%(message)z', '%(asctime)9999s'];
  for (const logFmtLogfile of bad) {
    expect(() => logged([], { logFmtLogfile })).toThrow(/^log_fmt_logfile: /);
  }
});

test('a syslog that there can not be is refused, with the address', () => {
  const logFile = 'udp://localhost/LOG_NOBODY';
  expect(() => logged([], { logFile })).toThrow(`${logFile}: syslog has no facility LOG_NOBODY`);
});

test('outputs are opened again by other options, or stay as they are', () => {
  const lines: string[] = [];
  const silent = (): void => undefined;
  const put = (text: string): void => void lines.push(text);
  const output = openLogOutput(OPTIONS, put, silent, NOW);
  output.reopen({ ...OPTIONS, logLevel: 'error', logFmtConsole: '%(message)s' });
  output.write(PUBLISHER, LINE);
  output.write(PUBLISHER, json({ level: 'error', msg: 'worse' }));
  expect(() => output.reopen({ ...OPTIONS, logFmtConsole: '%(nobody)s' })).toThrow(/nobody/);
  output.write(PUBLISHER, json({ level: 'error', msg: 'again' }));
  expect(lines).toEqual(['worse\n', 'again\n']);
  expect(output.levelOf('publisher')).toBe('error');
});

test('a log file is turned over at its size and old ones are kept up to their number', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-log-'));
  try {
    const path = join(dir, 'deep', 'master');
    const log = new LogFile({ path, maxBytes: 10, backups: 2, onTrouble: () => undefined });
    for (const text of ['one-line\n', 'two-line\n', 'thr-line\n', 'fou-line\n']) log.write(text);
    expect(readdirSync(join(dir, 'deep')).sort()).toEqual(['master', 'master.1', 'master.2']);
    expect(readFileSync(path, 'utf8')).toBe('fou-line\n');
    expect(readFileSync(`${path}.2`, 'utf8')).toBe('two-line\n');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a log file that can not be written is reported once and stops nothing', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-log-'));
  try {
    writeFileSync(join(dir, 'file'), '');
    const troubles: unknown[] = [];
    const path = join(dir, 'file', 'master');
    const onTrouble = (error: unknown): void => void troubles.push(error);
    const log = new LogFile({ path, maxBytes: 0, backups: 0, onTrouble });
    log.write('a\n');
    log.write('b\n');
    expect(troubles.length).toBe(1);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('the relay has a log file of its own where syndic_log_file names one', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-log-'));
  const [logFile, syndicLogFile] = [join(dir, 'master'), join(dir, 'syndic')];
  const output = openLogOutput({ ...OPTIONS, logFile, syndicLogFile }, silent, silent, NOW);
  const line = (msg: string): string => JSON.stringify({ level: 'error', msg });
  output.write(PUBLISHER, line('of the publisher'));
  output.write({ service: 'syndic-relay', pid: 43 }, line('of the relay'));
  expect(readFileSync(logFile, 'utf8')).toMatch(/of the publisher\n$/);
  expect(readFileSync(logFile, 'utf8')).not.toContain('of the relay');
  expect(readFileSync(syndicLogFile, 'utf8')).toMatch(/of the relay\n$/);
  rmSync(dir, { recursive: true });
});

const silent = (): void => undefined;
