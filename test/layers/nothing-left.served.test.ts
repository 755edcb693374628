import { expect, test } from 'vitest';
import { runFailing } from './run-failing.ts';

test('a file that leaves directories, databases, processes or servers fails, and says which', async () => {
  const { code, output } = await runFailing('left');
  expect(code).toBe(1);
  expect(output).toMatch(/1 passed/);
  expect(output).toMatch(/waited \d+ ms for this: the file leaves nothing behind/);
  expect(output).toMatch(/files: \[[^\]]*'left-\w{6}'/);
  expect(output).toMatch(/databases: \[ 'test_\d+_1' \]/);
  expect(output).toMatch(/handles: \[[^\]]*'ProcessWrap'/);
  expect(output).toMatch(/handles: \[[^\]]*'TCPServerWrap'/);
}, 120_000);
