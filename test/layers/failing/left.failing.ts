import { spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDatabase } from '@brine/testing';
import { test } from 'vitest';

test('leaves one of each', async () => {
  await makeDatabase();
  await mkdtemp(join(tmpdir(), 'left-'));
  spawn(process.execPath, ['-e', 'setTimeout(() => undefined, 60_000)']);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
