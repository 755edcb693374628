import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { back, JID, sceneOf, silent } from '../../test/runner-master.ts';

const minions = () => [back('web2', 'same'), back('db1', 'a\nb'), back('web1', 'same')];

test('survey.hash groups minions by what they return, the largest group first', async () => {
  const scene = sceneOf([], { minions });
  const kwargs = mapOf({ upper: true, tgt_type: 'glob' });
  expect(await scene.value('survey.hash', ['*', 'test.echo', 'x'], kwargs)).toEqual([
    mapOf({ pool: ['web1', 'web2'], result: 'same' }),
    mapOf({ pool: ['db1'], result: 'a\nb' }),
  ]);
  // Any other kind of target than pcre is a compound one; keywords go to the function.
  expect(scene.commands).toEqual([
    {
      tgt: '*',
      tgtType: 'compound',
      fun: 'test.echo',
      arg: ['x', mapOf({ __kwarg__: true, upper: true })],
    },
  ]);
});

test('survey_sort=up puts the smallest group first', async () => {
  const scene = sceneOf([], { minions });
  const kwargs = mapOf({ survey_sort: 'up', tgt_type: 'pcre' });
  const [first] = (await scene.value('survey.hash', ['.*', 'test.echo'], kwargs)) as unknown[];
  expect(first).toEqual(mapOf({ pool: ['db1'], result: 'a\nb' }));
  expect(scene.commands[0]).toMatchObject({ tgtType: 'pcre', arg: [] });
});

test('values are compared as Python writes them, and silence is one of them', async () => {
  const returns = [back('a', mapOf({ x: [1, null] })), silent('b')];
  const scene = sceneOf([], { minions: () => returns });
  const found = await scene.value('survey.hash', ['*', 'grains.items']);
  expect(found).toEqual([
    mapOf({ pool: ['a'], result: "{'x': [1, None]}" }),
    mapOf({
      pool: ['b'],
      result: expect.stringMatching(new RegExp(`^Minion did not return.*${JID}$`, 's')) as never,
    }),
  ]);
});

test('survey.diff prints what is different from the first pool', async () => {
  const returns = [back('a', 'one\ntwo'), back('b', 'one\ntwo'), back('c', 'one\n2\n3')];
  const scene = sceneOf([], { minions: () => returns });
  await scene.value('survey.diff', ['*', 'cp.get_file_str', '/etc/x']);
  expect(scene.printed.join('')).toBe(
    [
      ...['minion pool :', '------------', "['a', 'b']", 'pool size :', '----------', '    2'],
      ...['pool result :', '------------', '    one', 'two', ''],
      ...['minion pool :', '------------', "['c']", 'pool size :', '----------', '    1'],
      ...['differences from "a" results :', '-----------------------------'],
      ...['--- a', '+++ c', '@@ -2 +2,2 @@', '-two', '+2', '+3', '', '', ''],
    ].join('\n'),
  );
});

test('a survey without a function is refused', async () => {
  const scene = sceneOf([], { minions });
  expect(await scene.run('survey.hash', ['*'])).toMatchObject({ success: false, retcode: 1 });
  expect(scene.commands).toEqual([]);
});
