import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { OrchestrationWorld, type Plain } from '../../test/orchestration-world.ts';
import { bindArguments } from '../arguments.ts';
import { RUNNERS } from '../table.ts';

test.each<[string, Plain]>([
  ['salt.runner', [{ name: 'sdb.set' }, { uri: 'x' }, { value: 'pw-secret' }]],
  ['salt.wheel', [{ name: 'config.apply' }, { key: 'x' }, { value: 'pw-secret' }]],
])('no event of a step with %s has arguments that are secrets', async (state, step) => {
  const world = new OrchestrationWorld({ main: { a: { [state]: step } } });
  const fun = RUNNERS.get('state.orchestrate')!;
  const given = bindArguments(fun, { args: ['main'], kwargs: mapOf({}) });
  await fun.run(given, world.context());
  const args = world.fired.filter(({ tag }) => tag.endsWith('/args'));
  expect(args).toHaveLength(1);
  expect(args[0]?.data.get('args')).toEqual(state === 'salt.runner' ? [] : mapOf({}));
  for (const { data } of world.fired) {
    expect(Buffer.from(pack(data)).includes('pw-secret')).toBe(false);
  }
});
