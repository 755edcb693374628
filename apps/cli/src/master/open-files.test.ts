import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openFilesLimit, openFilesWarning, raiseOpenFiles } from './open-files.ts';

test.each([
  [3, 12, undefined],
  [3, 11, 'info'],
  [3, 9, 'warn'],
  [3, 6, 'fatal'],
  [0, 0, undefined],
])('%d keys with %d files are %s, as in Salt', (keys, limit, level) => {
  const pkiDir = mkdtempSync(join(tmpdir(), 'brine-files-'));
  onTestFinished(() => rmSync(pkiDir, { recursive: true }));
  mkdirSync(join(pkiDir, 'minions'));
  for (let n = 0; n < keys; n += 1) writeFileSync(join(pkiDir, 'minions', `web${n}`), '');
  const found = openFilesWarning({ pkiDir }, limit);
  expect(found?.level).toBe(level);
  if (found !== undefined) expect(found.text).toContain(`${keys} keys are accepted`);
});

test('a limit that is high enough is left alone', () => {
  expect(openFilesLimit()).toBeGreaterThan(0);
  expect(raiseOpenFiles(1)).toBe(undefined);
});
