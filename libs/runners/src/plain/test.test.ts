import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { JID, sceneOf } from '../../test/runner-master.ts';

test('arguments are shown, without private keywords unless they are asked for', async () => {
  const { value } = sceneOf([]);
  const kwargs = mapOf({ k: 'v', __private: 1 });
  expect(await value('test.arg', [1], kwargs)).toEqual(
    mapOf({ args: [1], kwargs: mapOf({ k: 'v' }) }),
  );
  expect(await value('test.raw_arg', [1], kwargs)).toEqual(mapOf({ args: [1], kwargs }));
});

test('text for the terminal comes before the result', async () => {
  const { value, printed } = sceneOf([]);
  expect(await value('test.stdout_print')).toBe('bar');
  expect(await value('test.sleep', [0])).toBe(true);
  expect(printed).toEqual(['foo\n', '0\n']);
});

test('a sleep that is no time, or has no end, is refused', async () => {
  const { run } = sceneOf([]);
  for (const time of ['soon', -1, 86_401, null, true]) {
    expect((await run('test.sleep', [time])).value).toContain('Passed invalid arguments: s_time');
  }
});

test('test.stream tells of itself 99 times', async () => {
  const { value, fired } = sceneOf([]);
  expect(await value('test.stream')).toBe(true);
  expect(fired).toHaveLength(99);
  expect(fired[41]).toEqual([`salt/run/${JID}/progress`, mapOf({ message: 'Runner is 42% done' })]);
});

test('metasyntactic names are those of a country', async () => {
  const { value } = sceneOf([]);
  expect(await value('test.metasyntactic', ['uk'])).toEqual(['wibble', 'wobble', 'wubble', 'flob']);
  expect(await value('test.metasyntactic')).toHaveLength(14);
  expect(await value('test.metasyntactic', ['toString'])).toBeNull();
});

test('options that Salt does not have are for callers without limits', async () => {
  const configured = { user: 'root', brine: mapOf({ host: 'a' }) };
  const whole = await sceneOf([], { configured }).value('test.get_opts');
  expect(whole).toEqual(mapOf(configured));
  const limited = await sceneOf([], { configured, rights: ['@runner'] }).value('test.get_opts');
  expect(limited).toEqual(mapOf({ user: 'root' }));
});
