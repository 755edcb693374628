import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LogFile } from './log-file.ts';
import { consoleLine, fileLine, readLogLine } from './log-lines.ts';

const NOW = () => new Date('2026-11-20T20:10:00.123Z');

test('a line of a service reads as Salt writes its own', () => {
  const json = JSON.stringify({
    level: 'warn',
    time: '2026-11-20T20:09:59.500Z',
    service: 'publisher',
    jid: '20261120201000123456',
    count: 2,
    err: { type: 'Error', message: 'no', stack: 'Error: no\n    at open (file.ts:1:2)\n    at x' },
    msg: 'not sent',
  });
  const line = readLogLine('publisher', json, NOW);
  expect(consoleLine(line)).toBe(
    '[WARNING ] [publisher] not sent jid=20261120201000123456 count=2 ' +
      '(Error: no, at open (file.ts:1:2))\n',
  );
  expect(fileLine(line)).toMatch(/^2026-11-20 20:09:59,500 \[publisher {8}\]\[WARNING \] not sent/);
});

test('what a dying process writes is shown as it is', () => {
  expect(consoleLine(readLogLine('w', 'Segmentation fault', NOW))).toBe(
    '[ERROR   ] [w] Segmentation fault\n',
  );
  expect(readLogLine('w', '{broken', NOW).text).toBe('{broken');
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

test('a log file that can not be written is told once and stops nothing', () => {
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
