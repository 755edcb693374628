import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { expect, test } from 'vitest';
import {
  type Answer,
  OrchestrationWorld,
  type Plain,
  told,
} from '../../test/orchestration-world.ts';
import { bindArguments } from '../arguments.ts';
import { OWNED_WORK } from '../owned-work.ts';
import { RUNNERS } from '../table.ts';

/** Runs a runner in a world. */
async function run(
  world: OrchestrationWorld,
  fun: string,
  kwargs: Readonly<Record<string, SaltValue>>,
  jid?: string,
) {
  const found = RUNNERS.get(fun);
  if (found === undefined) throw new Error(`no ${fun}`);
  const given = bindArguments(found, { args: [], kwargs: mapOf(kwargs) });
  return found.run(given, world.context(jid));
}

async function orchestrate(
  world: OrchestrationWorld,
  kwargs: Readonly<Record<string, SaltValue>> = {},
) {
  const { value, retcode } = await run(world, 'state.orchestrate', { mods: 'main', ...kwargs });
  return { told: told(value), retcode, value };
}

/** What a minion returns for states: one state of this result. */
function states(result: boolean, changed = false): Answer {
  return (fun) => {
    if (!fun.startsWith('state.')) return true;
    const changes = changed ? mapOf({ a: 1 }) : mapOf({});
    return mapOf({ 'test_|-a_|-a_|-nop': mapOf({ result, changes, comment: '' }) });
  };
}

function stateOf(value: SaltValue, id: string): SaltMap {
  const data = isMap(value) ? mapIn(value, 'data') : undefined;
  const all = (data && mapIn(data, 'm_master')) ?? mapOf({});
  const found = [...all].find(([tag]) => pyStr(tag).split('_|-')[1] === id)?.[1];
  if (!isMap(found ?? null)) throw new Error(`no ${id}`);
  return found as SaltMap;
}

const APPLY: Plain = { a: { 'salt.state': [{ tgt: '*' }, { sls: 'x' }] } };

test('salt.state applies states, and tells which minions changed', async () => {
  const world = new OrchestrationWorld(
    { main: APPLY },
    { one: states(true, true), two: states(true) },
  );
  const { told: shown, retcode, value } = await orchestrate(world);
  expect(shown).toEqual(['a: true States ran successfully. Updating one. No changes made to two.']);
  expect(retcode).toBe(0);
  expect(world.published).toMatchObject([{ fun: 'state.sls', tgt: '*' }]);
  expect(world.published[0]?.arg).toEqual([
    'x',
    mapOf({ __kwarg__: true, queue: false, concurrent: false }),
  ]);
  expect(stateOf(value, 'a').get('__jid__')).toBe(world.published[0]?.jid);
});

test.each([
  ['a failed state', states(false), 'a: false Run failed on minions: one'],
  [
    'errors of the compiler',
    () => ['no such file', 'and more'],
    'a: false Run failed on minions: one\nMinion one returned errors: no such file; and more',
  ],
  [
    'False',
    () => false,
    'a: false Run failed on minions: one\nMinion one returned False instead of a state result.',
  ],
  [
    'nothing',
    () => undefined,
    'a: false Run failed on minions: one\nMinion one did not return a state result.',
  ],
])('salt.state fails where a minion returns %s', async (_name, answer, expected) => {
  const { told: shown, retcode } = await orchestrate(
    new OrchestrationWorld({ main: APPLY }, { one: answer }),
  );
  expect(shown).toEqual([expected]);
  expect(retcode).toBe(1);
});

test.each<readonly [Plain, string]>([
  [[{ fail_minions: 'one, two' }], 'a: true States ran successfully. Updating one.'],
  [[{ fail_minions: ['one'] }], 'a: true States ran successfully. Updating one.'],
  [[{ allow_fail: 1 }], 'a: true States ran successfully. Updating one.'],
  [[{ allow_fail: 'x' }], "a: false Passed invalid value for 'allow_fail', must be an int"],
  [[{ concurrent: 'x' }], "a: false Must pass in boolean for value of 'concurrent'"],
])('salt.state with %j', async (more, expected) => {
  const main = { a: { 'salt.state': [{ tgt: '*' }, { sls: 'x' }, ...(more as readonly Plain[])] } };
  const world = new OrchestrationWorld({ main }, { one: states(false) });
  expect((await orchestrate(world)).told).toEqual([expected]);
});

test('salt.function tells what each minion returned, and fails on False', async () => {
  const main = { a: { 'salt.function': [{ name: 'f' }, { tgt: '*' }, { arg: ['x', 1] }] } };
  const good = new OrchestrationWorld({ main }, { one: () => 'text' });
  const done = await orchestrate(good);
  expect(done.told).toEqual(['a: true Function ran successfully. Function f ran on one.']);
  expect(good.published[0]?.arg).toEqual(['x', 1]);
  const bad = new OrchestrationWorld({ main }, { one: () => false });
  expect((await orchestrate(bad)).told).toEqual([
    'a: false Running function f failed on minions: one Function f ran on one.',
  ]);
  expect((await orchestrate(new OrchestrationWorld({ main }))).told).toEqual([
    'a: false No minions responded',
  ]);
});

/** A step for a list of minions of which one is none; `more` of its arguments. */
function listed(state: string, ...more: readonly Plain[]): Plain {
  const target = [{ tgt: 'one,ghost' }, { tgt_type: 'list' }];
  const what = state === 'salt.state' ? { sls: 'x' } : { name: 'f' };
  return { a: { [state]: [...target, what, ...more] } };
}

const GHOST_STATE =
  'a: false Run failed on minions: ghost\nMinion ghost did not return a state result.';
const GHOST_FUNCTION =
  'a: false Running function f failed on minions: ghost Function f ran on one, ghost.';

test.each<readonly [Plain, string]>([
  [listed('salt.state'), GHOST_STATE],
  [listed('salt.state', { expect_minions: true }), GHOST_STATE],
  [listed('salt.state', { expect_minions: false }), GHOST_STATE],
  [listed('salt.state', { allow_fail: 1 }), 'a: true States ran successfully. Updating ghost.'],
  [
    listed('salt.state', { fail_minions: 'ghost' }),
    'a: true States ran successfully. Updating ghost.',
  ],
  [listed('salt.function'), GHOST_FUNCTION],
  [listed('salt.function', { expect_minions: true }), GHOST_FUNCTION],
])('a minion of a list that the master does not know has failed: %j', async (main, shown) => {
  const world = new OrchestrationWorld({ main }, { one: states(true) });
  const { told: said, retcode, value } = await orchestrate(world);
  expect(said[0]?.replace(/ No changes made to one\.$/, '')).toBe(shown);
  expect(retcode).toBe(shown.startsWith('a: true') ? 0 : 1);
  expect(mapIn(mapIn(stateOf(value, 'a'), 'changes') ?? mapOf({}), 'ret')?.get('ghost')).toBe(
    false,
  );
});

test.each(['salt.state', 'salt.function'])(
  'such a minion has failed after a takeover of its %s as well',
  async (state) => {
    const main = listed(state);
    const minions = { one: states(true) };
    const expected = (await orchestrate(new OrchestrationWorld({ main }, minions))).told;
    for (const livesFor of [1, 2]) {
      const world = new OrchestrationWorld({ main }, minions);
      world.livesFor = livesFor;
      const jid = world.nextJid();
      await expect(run(world, 'state.orchestrate', { mods: 'main' }, jid)).rejects.toThrow();
      const work = OWNED_WORK.get('orchestrate');
      const outcome = await work?.(world.takeOver(jid), world.context(jid));
      expect(told(outcome?.value ?? null)).toEqual(expected);
    }
    expect(expected[0]).toContain('failed on minions: ghost');
  },
);

test('a subset of fewer than no minions is one of them, as in Salt', async () => {
  const step = [{ name: 'f' }, { tgt: '*' }, { subset: -1 }];
  const main = { a: { 'salt.function': step } };
  const answer: Answer = (fun) => (fun === 'sys.list_functions' ? ['f'] : true);
  const world = new OrchestrationWorld({ main }, { one: answer, two: answer });
  expect((await orchestrate(world)).told[0]).toMatch(/Function f ran on (one|two)\.$/);
});

test.each([
  [{}, null],
  [{ saltenv: 'dev' }, null],
  [{ pillarenv: '' }, null],
  [{ saltenv: 'dev', pillarenv: 'aws' }, 'aws'],
])('the pillar of an orchestration with %j is that of %s', async (kwargs, pillarenv) => {
  for (const fun of ['state.orchestrate', 'state.orchestrate_show_sls']) {
    const world = new OrchestrationWorld({ main: { a: 'test.nop' } });
    await run(world, fun, { mods: 'main', ...kwargs });
    expect(world.pillarsAsked.map((asked) => asked.get('pillarenv'))).toEqual([pillarenv]);
  }
});

test('pillarenv of the master counts where none is asked for', async () => {
  const world = new OrchestrationWorld({ main: { a: 'test.nop' } });
  world.options.set('pillarenv', 'aws');
  await orchestrate(world);
  expect(world.pillarsAsked.map((asked) => asked.get('pillarenv'))).toEqual(['aws']);
});

test('salt.runner and salt.wheel run under job ids of their own', async () => {
  const main = {
    a: { 'salt.runner': [{ name: 'test.sleep' }, { s_time: 0 }] },
    b: { 'salt.wheel': [{ name: 'key.list' }, { match: 'accepted' }] },
  };
  const world = new OrchestrationWorld({ main });
  const { told: shown, value } = await orchestrate(world);
  expect(shown).toEqual([
    "a: true Runner function 'test.sleep' executed.",
    "b: true Wheel function 'key.list' executed.",
  ]);
  const jids = ['a', 'b'].map((id) => textOf(stateOf(value, id), '__jid__'));
  const tags = world.fired.map(({ tag }) => tag);
  expect(tags).toContain(`salt/run/${jids[0]}/new`);
  expect(tags).toContain(`salt/run/${jids[0]}/ret`);
  expect(tags).toContain(`salt/wheel/${jids[1]}/ret`);
});

test('an unknown runner fails its step as in Salt', async () => {
  const world = new OrchestrationWorld({ main: { a: { 'salt.runner': [{ name: 'no.such' }] } } });
  expect((await orchestrate(world)).told).toEqual([
    'a: false An exception occurred in this state: Traceback (most recent call last):\n' +
      "KeyError: 'no.such'\n",
  ]);
});

test('a state of a minion is refused with a text', async () => {
  const world = new OrchestrationWorld({ main: { a: { 'cmd.run': [{ name: 'true' }] } } });
  expect((await orchestrate(world)).told[0]).toBe(
    "a: false State 'cmd.run' was not found in SLS 'main'\nReason: 'cmd.run' is not available.\n" +
      'A stock master runs it on its own host; a Brine master runs only states of salt and test. ' +
      'Apply it to a minion by salt.state.\n',
  );
});

test('salt.wait_for_event ends when all were seen, or when the time is up', async () => {
  const main = {
    a: {
      'salt.wait_for_event': [{ name: 'x/*' }, { id_list: ['one', 'two'] }, { parallel: true }],
    },
    b: { 'salt.runner': [{ name: 'event.send' }, { tag: 'x' }] },
  };
  const world = new OrchestrationWorld({ main });
  const running = orchestrate(world);
  await expect.poll(() => world.ran).toEqual(['event.send']);
  world.fire('y/1', mapOf({ id: 'one' }));
  world.fire('x/1', mapOf({ id: 'one' }));
  world.fire('x/2', mapOf({ data: mapOf({ id: ['two', 'three'] }) }));
  const { told: shown, value } = await running;
  expect(shown[0]).toMatch(/^a: true All events seen in [\d.e-]+ seconds\.$/);
  expect(stateOf(value, 'a').get('changes')).toEqual(mapOf({ minions_seen: ['one', 'two'] }));
  const late = {
    a: { 'salt.wait_for_event': [{ name: 'x' }, { id_list: ['a'] }, { timeout: 0 }] },
  };
  expect((await orchestrate(new OrchestrationWorld({ main: late }))).told).toEqual([
    'a: false Timeout value reached.',
  ]);
});

test('a test run says what would be done, and does nothing', async () => {
  const main = {
    a: { 'salt.function': [{ name: 'f' }, { tgt: 'one' }] },
    b: { 'salt.runner': [{ name: 'test.sleep' }] },
    c: { 'salt.wheel': [{ name: 'key.list' }] },
    d: { 'salt.wait_for_event': [{ name: 'x' }, { id_list: [] }] },
  };
  const world = new OrchestrationWorld({ main }, { one: () => true });
  expect((await orchestrate(world, { test: true })).told).toEqual([
    'a: null Function f would be executed on target one',
    "b: null Runner function 'test.sleep' would be executed.",
    "c: null Wheel function 'key.list' would be executed.",
    "d: null Orchestration would wait for event 'x'",
  ]);
  expect(world.published).toEqual([]);
  expect(world.ran).toEqual([]);
});

test('the results come as Salt wraps them, errors too', async () => {
  const world = new OrchestrationWorld({ main: { a: 'test.nop' } });
  const { value } = await orchestrate(world);
  expect([...(value as SaltMap).keys()]).toEqual(['data', 'outputter', 'retcode']);
  const missing = await orchestrate(world, { mods: ['nosuch'] });
  expect(missing.told).toEqual(["No matching sls found for 'nosuch' in env 'base'"]);
  expect(missing.retcode).toBe(1);
});

test('no state runs on a pillar with errors', async () => {
  const world = new OrchestrationWorld({ main: APPLY }, { one: states(true) });
  world.pillar = mapOf({ _errors: ['it broke'] });
  const { told: shown } = await orchestrate(world);
  expect(shown).toEqual(['Pillar failed to render with the following messages:', 'it broke']);
  expect(world.published).toEqual([]);
});

test('a pillar that is no map is refused, and one to decrypt', async () => {
  const world = new OrchestrationWorld({ main: APPLY });
  await expect(orchestrate(world, { pillar: [1] })).rejects.toThrow(/formatted as a dictionary/);
  await expect(orchestrate(world, { pillar_enc: 'gpg' })).rejects.toThrow(/pillar_enc/);
});

const LONG: Plain = {
  a: { 'salt.function': [{ name: 'first' }, { tgt: '*' }] },
  b: { 'salt.state': [{ tgt: '*' }, { sls: 'x' }, { require: [{ salt: 'a' }] }] },
  c: { 'salt.runner': [{ name: 'test.sleep' }, { s_time: 0 }] },
  d: { 'salt.parallel_runners': [{ runners: { x: [{ name: 'test.sleep' }] } }] },
  e: 'test.succeed_with_changes',
  f: { 'salt.function': [{ name: 'last' }, { tgt: 'one' }, { onchanges: [{ test: 'e' }] }] },
  g: { 'salt.state': [{ tgt: '*' }, { sls: 'y' }, { batch: 1 }] },
};

test('whenever its worker dies, another one goes on, and no step is done twice', async () => {
  const minions = { one: states(true, true), two: states(true) };
  const whole = new OrchestrationWorld({ main: LONG }, minions);
  const expected = (await orchestrate(whole)).told;
  expect(whole.saves).toBeGreaterThan(8);
  for (let livesFor = 0; livesFor < whole.saves; livesFor += 1) {
    const world = new OrchestrationWorld({ main: LONG }, minions);
    world.livesFor = livesFor;
    const jid = world.nextJid();
    await expect(run(world, 'state.orchestrate', { mods: 'main' }, jid)).rejects.toThrow();
    const work = OWNED_WORK.get('orchestrate');
    const outcome = await work?.(world.takeOver(jid), world.context(jid));
    expect(told(outcome?.value ?? null), `after ${livesFor} saves`).toEqual(expected);
    const jobs = world.published.map(({ fun }) => fun);
    expect(jobs, `after ${livesFor} saves`).toEqual(['first', 'state.sls', 'last', 'state.sls']);
    expect(world.ran).toEqual(['test.sleep', 'test.sleep']);
  }
});

const ONE_STEP: Plain = { a: { 'salt.function': [{ name: 'first' }, { tgt: '*' }] } };

test.each([
  ['before its publish is known to be answered', 1, ['first', 'first']],
  ['after that', 2, ['first']],
])(
  'while the job cache is behind, a step is one job: its worker dies %s',
  async (_when, livesFor, sent) => {
    const world = new OrchestrationWorld({ main: ONE_STEP }, { one: () => true });
    world.livesFor = livesFor;
    const jid = world.nextJid();
    await expect(run(world, 'state.orchestrate', { mods: 'main' }, jid)).rejects.toThrow();
    world.cacheBehind = 4;
    const outcome = await OWNED_WORK.get('orchestrate')?.(world.takeOver(jid), world.context(jid));
    expect(told(outcome?.value ?? null)).toEqual([
      'a: true Function ran successfully. Function first ran on one.',
    ]);
    expect(world.sent).toEqual(sent);
    expect(world.published).toHaveLength(1);
  },
);

test('a runner that was under way when its worker died is not run again, and its step fails', async () => {
  const main = { a: { 'salt.runner': [{ name: 'test.sleep' }, { s_time: 0 }] } };
  const world = new OrchestrationWorld({ main });
  world.keepsEntries = false;
  world.livesFor = 1;
  const jid = world.nextJid();
  await expect(run(world, 'state.orchestrate', { mods: 'main' }, jid)).rejects.toThrow();
  const outcome = await OWNED_WORK.get('orchestrate')?.(world.takeOver(jid), world.context(jid));
  expect(told(outcome?.value ?? null)).toEqual(["a: false Runner function 'test.sleep' failed."]);
  const changes = mapIn(stateOf(outcome?.value ?? null, 'a'), 'changes') ?? mapOf({});
  expect(textOf(changes, 'return')).toContain('was under way when the worker that ran it died');
  expect(world.ran).toEqual(['test.sleep']);
});

test('salt.wait_for_event misses no event between two workers', async () => {
  const main = {
    a: { 'salt.wait_for_event': [{ name: 'x' }, { id_list: ['one', 'two', 'three'] }] },
  };
  const world = new OrchestrationWorld({ main });
  // One of them notes where the wait begins, one what it has seen.
  world.livesFor = 2;
  const jid = world.nextJid();
  world.fire('x', mapOf({ id: 'three' }));
  const running = run(world, 'state.orchestrate', { mods: 'main' }, jid);
  await expect.poll(() => world.saves).toBe(1);
  for (const id of ['one', 'two']) world.fire('x', mapOf({ id }));
  await expect(running).rejects.toThrow();
  const outcome = OWNED_WORK.get('orchestrate')?.(world.takeOver(jid), world.context(jid));
  await expect.poll(() => world.saves).toBe(5);
  world.fire('x', mapOf({ id: 'three' }));
  const { value = null } = (await outcome) ?? {};
  expect(told(value)[0]).toMatch(/^a: true All events seen in/);
  const changes = mapOf({ minions_seen: ['one', 'two', 'three'] });
  expect(stateOf(value, 'a').get('changes')).toEqual(changes);
});

test('a batch of a step is one of the cluster; its silent minions have returned nothing', async () => {
  const main = { a: { 'salt.function': [{ name: 'f' }, { tgt: '*' }, { batch: '50%' }] } };
  const world = new OrchestrationWorld({ main }, { one: () => 'x', two: () => undefined });
  const { told: shown, value } = await orchestrate(world);
  expect(shown).toEqual(['a: true Function ran successfully. Function f ran on one, two.']);
  expect(mapIn(stateOf(value, 'a'), 'changes')?.get('ret')).toEqual(
    mapOf({ one: 'x', two: mapOf({}) }),
  );
  expect((await orchestrate(new OrchestrationWorld({ main }))).told).toEqual([
    'a: false No minions responded',
  ]);
});

test('a run is paused before a state, goes on, and is ended before another', async () => {
  const main = {
    a: { 'salt.function': [{ name: 'slow' }, { tgt: 'one' }] },
    b: 'test.nop',
    c: 'test.nop',
  };
  const world = new OrchestrationWorld({ main }, { one: () => true });
  const jid = world.nextJid();
  world.onPublish = async () => {
    await run(world, 'state.pause', { jid, state_id: 'b' });
    await run(world, 'state.soft_kill', { jid, state_id: 'c' });
  };
  const running = run(world, 'state.orchestrate', { mods: 'main' }, jid);
  await expect.poll(() => world.published.length).toBe(1);
  let isOver = false;
  void running.finally(() => (isOver = true));
  await run(world, 'state.pause', { jid: '20990101000000000000', state_id: 'a' });
  expect(isOver).toBe(false);
  await run(world, 'state.resume', { jid, state_id: 'b' });
  const { value } = await running;
  expect(told(value).map((line) => line.split(':')[0])).toEqual(['a', 'b']);
});

test.each<readonly [SaltValue, RegExp]>([
  ['abc', /^ValueError: invalid literal for int\(\) with base 10: 'abc'$/],
  ['1.5', /^ValueError: invalid literal for int\(\) with base 10: '1.5'$/],
  [[1], /^int\(\) argument must be .*, not 'list'$/],
])('a pause of %j seconds is refused', async (duration, text) => {
  const world = new OrchestrationWorld({});
  const call = { jid: world.nextJid(), state_id: 'a' };
  await expect(run(world, 'state.pause', { ...call, duration })).rejects.toThrow(text);
  await run(world, 'state.pause', { ...call, duration: '20' });
});

test('state.orchestrate_show_sls shows states and runs none', async () => {
  const world = new OrchestrationWorld({ main: APPLY }, { one: states(true) });
  const { value } = await run(world, 'state.orchestrate_show_sls', { mods: 'main' });
  const shown = mapIn(value as SaltMap, 'm_master');
  expect([...(shown ?? [])].map(([id]) => id)).toEqual(['a']);
  expect(world.published).toEqual([]);
});

test('state.orchestrate_single runs one state', async () => {
  const world = new OrchestrationWorld({}, { one: () => true });
  const { value } = await run(world, 'state.orchestrate_single', {
    fun: 'salt.function',
    name: 'test.ping',
    tgt: 'one',
  });
  const shown = mapIn(value as SaltMap, 'm_master');
  expect([...(shown ?? [])].map(([tag]) => tag)).toEqual([
    'salt_|-test.ping_|-test.ping_|-function',
  ]);
  expect(world.published).toHaveLength(1);
});
