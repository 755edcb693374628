import { mapOf, unpack } from '@brine/wire';
import { expect, test } from 'vitest';
import { back, MINION_PEM, sceneOf, silent } from '../../test/runner-master.ts';

const minions = () => [back('web2', true), silent('dead2'), back('web1', true), silent('dead1')];

test('minions that answer a ping are up, those that do not are down', async () => {
  const scene = sceneOf([], { minions });
  expect(await scene.value('manage.status')).toEqual(
    mapOf({ up: ['web1', 'web2'], down: ['dead1', 'dead2'] }),
  );
  expect(await scene.value('manage.up', [], mapOf({ tgt: 'web*', timeout: 3 }))).toEqual([
    'web1',
    'web2',
  ]);
  const kwargs = mapOf({ tgt: ['a', 'b'], tgt_type: 'list', gather_job_timeout: 7 });
  expect(await scene.value('manage.down', [], kwargs)).toEqual(['dead1', 'dead2']);
  expect(scene.commands).toEqual([
    { tgt: '*', tgtType: 'glob', fun: 'test.ping', arg: [], isOwn: true },
    { tgt: 'web*', tgtType: 'glob', fun: 'test.ping', arg: [], isOwn: true },
    { tgt: ['a', 'b'], tgtType: 'list', fun: 'test.ping', arg: [], isOwn: true },
  ]);
  expect(scene.waits).toEqual([{}, { timeoutMs: 3_000 }, { gatherJobTimeoutMs: 7_000 }]);
});

test('an id of a list that the master does not know is neither up nor down', async () => {
  const ghost = { kind: 'missing', id: 'ghost', unknown: true } as const;
  const scene = sceneOf([], { minions: () => [...minions(), ghost] });
  const kwargs = mapOf({ tgt: ['web1', 'ghost'], tgt_type: 'list' });
  expect(await scene.value('manage.down', [], kwargs)).toEqual(['dead1', 'dead2']);
});

test('a target without minions is said, and nothing is up or down', async () => {
  const scene = sceneOf([]);
  expect(await scene.value('manage.status')).toEqual(mapOf({ up: [], down: [] }));
  expect(scene.printed).toEqual([
    'No minions matched the target. No command was sent, no jid was assigned.\n',
  ]);
});

test('a timeout that is no number is told as Python tells it', async () => {
  const scene = sceneOf([], { minions });
  const outcome = await scene.run('manage.up', [], mapOf({ timeout: 'soon' }));
  expect(outcome.value).toContain('Passed invalid arguments: timeout must be a number');
  expect(scene.commands).toEqual([]);
});

test('removekeys deletes exactly the keys of minions that are down, on record', async () => {
  const scene = sceneOf(['web1', 'web2', 'dead1', 'dead2', 'dead11'], { minions });
  await scene.value('manage.down');
  expect(scene.memory.audited).toEqual([]);
  await scene.value('manage.down', [true]);
  const states = [...scene.memory.minionKeys].map(([id, { state }]) => [id, state]);
  expect(Object.fromEntries(states)).toEqual({
    web1: 'accepted',
    web2: 'accepted',
    dead11: 'accepted',
    dead1: 'deleted',
    dead2: 'deleted',
  });
  const deleted = { kind: 'key', outcome: 'accepted to deleted', principal: 'root' };
  expect(scene.memory.audited).toMatchObject([
    { ...deleted, target: 'dead1' },
    { ...deleted, target: 'dead2' },
  ]);
});

test('key_regen tells all minions first, then deletes the keys of all, and not of the master', async () => {
  const scene = sceneOf(['web1'], { minions: () => [back('web1', null)] });
  scene.memory.setKey('new1', { state: 'pending', pub: MINION_PEM, denied: [] });
  scene.memory.setKey('bad1', { state: 'rejected', pub: MINION_PEM, denied: [MINION_PEM] });
  const value = await scene.value('manage.key_regen');
  expect(value).toContain('The key of the master stays');
  expect(scene.commands).toMatchObject([{ tgt: '*', fun: 'saltutil.regen_keys' }]);
  for (const { state } of scene.memory.minionKeys.values()) expect(state).toBe('deleted');
  expect(scene.memory.audited.filter(({ kind }) => kind === 'key')).toHaveLength(4);
});

test('releases are compared with that of the master', async () => {
  const returns = [
    ...[back('new', '3009.0'), back('old', '3006.26'), back('same', '3008.5')],
    ...[back('rc', '3008.5rc1'), back('git', '3008.5+12.gabcdef0'), silent('dead')],
    ...[back('broken', 'no such function', 1), back('odd', 'Argon')],
  ];
  const scene = sceneOf([], { minions: () => returns });
  expect(await scene.value('manage.versions')).toEqual(
    mapOf({
      'Minion offline': mapOf({ broken: false, dead: false, odd: false }),
      'Minion newer than master': mapOf({ git: '3008.5+12.gabcdef0', new: '3009.0' }),
      'Minion requires update': mapOf({ old: '3006.26', rc: '3008.5rc1' }),
      'Up to date': mapOf({ same: '3008.5' }),
      Master: '3008.5',
    }),
  );
});

test('keys that were deleted are told by Salt’s event', async () => {
  const scene = sceneOf(['dead1'], { minions: () => [silent('dead1')] });
  await scene.value('manage.down', [true]);
  const [event] = scene.memory.events.filter(({ tag }) => tag === 'salt/key');
  expect(unpack(event?.body ?? Buffer.alloc(0))).toEqual(
    mapOf({ result: true, act: 'delete', id: 'dead1' }),
  );
});
