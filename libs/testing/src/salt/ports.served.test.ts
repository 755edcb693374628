import { expect, test } from 'vitest';
import { freePorts } from './ports.ts';

test('a port is given once, though nothing listens on it', async () => {
  const [first = 0] = await freePorts(1);
  const again = await freePorts(2, first);
  expect(again).toHaveLength(2);
  expect(again).not.toContain(first);
});
