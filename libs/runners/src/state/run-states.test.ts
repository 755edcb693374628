import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { OrchestrationWorld, type Plain } from '../../test/orchestration-world.ts';
import { bindArguments } from '../arguments.ts';
import { callFunction } from '../call.ts';
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

test.each(['salt.runner', 'salt.parallel_runners'])(
  'an orchestration that runs itself by %s ends as a failed step that says why',
  async (state) => {
    const runner = { name: 'state.orchestrate', mods: 'main' };
    const step =
      state === 'salt.runner'
        ? [{ name: runner.name }, { mods: runner.mods }]
        : [{ runners: { one: [{ name: runner.name }, { kwarg: { mods: runner.mods } }] } }];
    const world = new OrchestrationWorld({ main: { again: { [state]: step } } });
    world.runsOrchestrations = true;
    const fun = RUNNERS.get('state.orchestrate')!;
    const given = bindArguments(fun, { args: ['main'], kwargs: mapOf({}) });
    const { retcode } = await fun.run(given, world.context());
    // As in Salt a step with parallel runners never fails for an orchestration of them.
    expect(retcode).toBe(state === 'salt.runner' ? 1 : 0);
    expect(world.ran).toHaveLength(4);
    const [innermost] = world.outcomes;
    expect(innermost).toMatchObject({ success: false, retcode: 1 });
    expect(Buffer.from(pack(innermost?.value ?? null)).toString()).toContain(
      'was not run: it is inside 4 calls of runners, each of which began the next',
    );
  },
);

test.each([
  [{}, "execute() missing 2 required positional arguments: 'tgt' and 'fun'"],
  [{ tgt: 'one' }, "execute() missing 1 required positional argument: 'fun'"],
  [{ arg: ['one', 'f'], tgt: 'one' }, "execute() got multiple values for argument 'tgt'"],
])('a runner with %j tells what does not fit, and is no failure', async (given, text) => {
  const step = Object.entries({ name: 'salt.execute', ...given }).map(([k, v]) => ({ [k]: v }));
  const world = new OrchestrationWorld({ main: { a: { 'salt.runner': step as Plain } } });
  world.runsOrchestrations = true;
  const fun = RUNNERS.get('state.orchestrate')!;
  const { retcode, value } = await fun.run(
    bindArguments(fun, { args: ['main'], kwargs: mapOf({}) }),
    world.context(),
  );
  expect(retcode).toBe(0);
  const told = Buffer.from(pack(value)).toString();
  expect(told).toContain(`\nPassed invalid arguments: ${text}\n\nUsage:\n`);
  expect(told).toContain("Runner function 'salt.execute' executed.");
});

test('a runner that templates call is inside the call of theirs', async () => {
  const world = new OrchestrationWorld({ main: {} });
  const context = world.context();
  const call = { kind: 'runner', fun: 'test.arg', args: [1], kwargs: mapOf({}) } as const;
  const at = (depth: number) => {
    const { master } = context;
    return callFunction(call, {
      ...context,
      master: { ...master!, call: { ...master!.call, depth } },
    });
  };
  expect(await at(4)).toMatchObject({ success: true });
  expect(await at(5)).toMatchObject({ success: false, retcode: 1 });
});
