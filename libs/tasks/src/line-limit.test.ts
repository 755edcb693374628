import { expect, test } from 'vitest';
import { LineLimit } from './line-limit.ts';

test('so many lines a minute pass, and the others are counted', () => {
  let now = 0;
  const lines: string[] = [];
  const limits = { perMinute: 2, chars: 5 };
  const log = new LineLimit(
    (level, text) => lines.push(`${level} ${text}`),
    limits,
    () => now,
  );
  for (const text of ['one', 'two', 'three', 'four']) log.line('error', text);
  expect(lines).toEqual(['error one', 'error two']);
  now = 60_000;
  log.line('info', 'and a long one');
  expect(lines.slice(2)).toEqual(['warn 2 lines were left out', 'info and a']);
  log.line('info', 'six');
  log.line('info', 'seven');
  log.end();
  log.end();
  expect(lines.slice(4)).toEqual(['info six', 'warn 1 lines were left out']);
});
