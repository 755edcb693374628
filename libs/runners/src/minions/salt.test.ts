import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { back, JID, sceneOf, silent } from '../../test/runner-master.ts';

const minions = () => [back('web1', true, 2), silent('dead1')];
const NO_RESPONSE = expect.stringMatching(/^Minion did not return\. \[No response\]/) as never;

test('salt.cmd runs the functions of the module test in the master', async () => {
  const { run, value } = sceneOf([]);
  expect(await value('salt.cmd', ['test.version'])).toBe('3008.5');
  expect(await value('salt.cmd', ['test.echo', 'hello'])).toBe('hello');
  const kwargs = mapOf({ k: 'v', with_pillar: true });
  expect(await value('salt.cmd', ['test.arg', 1, [2]], kwargs)).toEqual(
    mapOf({ args: [1, [2]], kwargs: mapOf({ k: 'v' }) }),
  );
  expect(await run('salt.cmd', ['test.retcode', 3])).toMatchObject({ success: false, retcode: 3 });
});

test('no other function is available, least of all one that runs commands', async () => {
  const { value } = sceneOf([]);
  for (const name of ['cmd.run', 'state.apply', 'test.nosuch', '__proto__']) {
    expect(await value('salt.cmd', [name, 'id'])).toBe(`'${name}' is not available.`);
  }
});

test('arguments that do not fit are told as those of the runner are', async () => {
  const { run } = sceneOf([]);
  const tooMany = await run('salt.cmd', ['test.ping', 1]);
  expect(tooMany.value).toContain('Passed invalid arguments: ping() takes 0 positional arguments');
  const unknown = await run('salt.cmd', ['test.echo', 'x'], mapOf({ nosuch: 1 }));
  expect(unknown.value).toContain('Passed invalid arguments:');
});

test('salt.execute shows returns, and says what did not return', async () => {
  const { value, commands } = sceneOf([], { minions });
  expect(await value('salt.execute', ['web*', 'test.ping'])).toEqual(
    mapOf({ web1: true, dead1: NO_RESPONSE }),
  );
  expect(commands).toEqual([{ tgt: 'web*', tgtType: 'glob', fun: 'test.ping', arg: [] }]);
});

test('salt.execute has the parameters of Salt', async () => {
  const { value, commands, waits } = sceneOf([], { minions });
  const kwargs = mapOf({
    kwarg: mapOf({ a: 1 }),
    ret: 'redis',
    jid: JID,
    metadata: mapOf({ ticket: 7 }),
    full_return: true,
  });
  const args = [['web1', 'dead1'], 'test.arg', ['x', 2], 3, 'list'];
  expect(await value('salt.execute', args, kwargs)).toEqual(
    mapOf({
      web1: mapOf({ ret: true, retcode: 2, jid: JID }),
      dead1: mapOf({ ret: NO_RESPONSE, retcode: 1, out: 'no_return', jid: JID }),
    }),
  );
  expect(commands).toEqual([
    {
      tgt: ['web1', 'dead1'],
      tgtType: 'list',
      fun: 'test.arg',
      ret: 'redis',
      jid: JID,
      arg: ['x', 2, mapOf({ __kwarg__: true, a: 1 })],
      kwargs: mapOf({ metadata: mapOf({ ticket: 7 }) }),
    },
  ]);
  expect(waits).toEqual([{ timeoutMs: 3_000 }]);
});

test('one value is one argument, not its letters', async () => {
  const { value, commands } = sceneOf([], { minions });
  await value('salt.execute', ['*', 'cmd.run', 'uptime']);
  expect(commands[0]?.arg).toEqual(['uptime']);
});

test('credentials and rights can not be handed in beside the caller’s own', async () => {
  const { run, commands } = sceneOf([], { minions, rights: ['@runner'] });
  for (const name of ['auth_list', 'token', 'eauth', 'key']) {
    const outcome = await run('salt.execute', ['*', 'test.ping'], mapOf({ [name]: 'x' }));
    expect(outcome).toMatchObject({ success: false });
    expect(outcome.value).toContain(`${name}: not in force`);
  }
  expect(commands).toEqual([]);
});
