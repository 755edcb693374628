import { SERVED } from '@brine/config';
import { BUILTIN_ENGINES } from '@brine/engines';
import { expect, test } from 'vitest';

test('the start refuses no engine that there is, and takes none that there is not', () => {
  expect([...SERVED.engines].sort()).toEqual(Object.keys(BUILTIN_ENGINES).sort());
});
