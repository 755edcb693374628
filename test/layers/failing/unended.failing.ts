import { writeSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';

test('fails at once', () => {
  expect(1).toBe(2);
});

test('never ends', async () => {
  // What a worker tells of its tests is gathered for a moment before it is sent.
  await setTimeout(2_000);
  writeSync(1, 'the test that never ends has begun\n');
  await setTimeout(3_600_000);
}, 3_600_000);
