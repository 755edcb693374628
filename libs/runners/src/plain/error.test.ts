import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';

test('an error is raised under its name, by runner and wheel', async () => {
  const { run, wheel } = sceneOf([]);
  expect(await run('error.error')).toEqual({ value: mapOf({}), success: true });
  const failed = { success: false, retcode: 1 };
  expect(await run('error.error', ['SaltInvocationError', 'why'])).toEqual({
    value: 'Exception occurred in runner error.error: salt.exceptions.SaltInvocationError: why',
    ...failed,
  });
  expect(await run('error.error', ['', 'why'])).toEqual({
    value: 'Exception occurred in runner error.error: Exception: why',
    ...failed,
  });
  expect(await wheel('error.error', ['KeyError', 'x'])).toEqual({
    value: 'Exception occurred in wheel error.error: KeyError: x',
    ...failed,
  });
  expect((await run('error.error', ['NoSuchName'])).value).toBe(
    'Exception occurred in runner error.error: salt.exceptions.SaltException',
  );
});

test('two errors are told in other words, as Salt tells them', async () => {
  const { run } = sceneOf([]);
  const type = await run('error.error', ['TypeError', 'not that']);
  expect(type.value).toContain('Passed invalid arguments: not that');
  expect(type.success).toBe(true);
  expect(await run('error.error', ['NotImplemented', 'not yet'])).toMatchObject({
    value: 'not yet',
    success: false,
    retcode: 1,
  });
});
