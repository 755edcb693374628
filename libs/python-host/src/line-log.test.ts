import { expect, test } from 'vitest';
import { LineLog } from './line-log.ts';
import { LIMITS } from './settings.ts';

function logged(nowMs: () => number = () => 0) {
  const lines: string[] = [];
  return { lines, log: new LineLog((level, text) => lines.push(`${level} ${text}`), nowMs) };
}

test('lines keep the level that Salt gave them, and parts are joined', () => {
  const { lines, log } = logged();
  log.write('[ERROR] salt.x: bad\n[WARN');
  log.write('ING] salt.y: odd\n\nplain');
  expect(lines).toEqual(['error [ERROR] salt.x: bad', 'warn [WARNING] salt.y: odd']);
  log.end();
  expect(lines.at(-1)).toBe('info plain');
});

test('a module that prints much fills no log', () => {
  let now = 0;
  const { lines, log } = logged(() => now);
  for (let n = 0; n < 1000; n += 1) log.write(`line ${n}\n`);
  expect(lines).toHaveLength(LIMITS.linesPerMinute);
  now = 60_000;
  log.write('next\n');
  expect(lines.slice(-2)).toEqual(['warn 800 lines were left out', 'info next']);
  log.write(`${'x'.repeat(100_000)}\n`);
  expect(lines.at(-1)).toHaveLength(LIMITS.lineChars + 'info '.length);
});

test('a line without an end is kept only in part', () => {
  const { lines, log } = logged();
  for (let n = 0; n < 100; n += 1) log.write('x'.repeat(1000));
  log.end();
  expect(lines.map(({ length }) => length)).toEqual([LIMITS.lineChars + 'info '.length]);
});
