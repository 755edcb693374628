import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { OPTIONS, type Plain, ports, resultOf, runSls, salted, told } from '../test/runs.ts';
import { callHigh } from './call-high.ts';
import { type DoneStep, RunCutOffError, type StepLedger } from './ports.ts';

const FAILED = 'One or more requisite failed: main.';
const NOT_CHANGED = 'State was not run because none of the onchanges reqs changed';
const NO_FAILURE = 'State was not run because onfail req did not change';

/** The outcome of a run of one file, by the name of the case. */
const RUNS: Readonly<Record<string, readonly [Plain, readonly string[]]>> = {
  'states run as they are written': [
    { b: 't.ok', a: 't.ok', c: 't.ok' },
    ['b: true ok', 'a: true ok', 'c: true ok'],
  ],
  'a require runs first': [
    { a: { 't.ok': [{ require: [{ t: 'b' }] }] }, b: 't.ok' },
    ['b: true ok', 'a: true ok'],
  ],
  'a chain of requires runs from its end': [
    {
      a: { 't.ok': [{ require: [{ t: 'b' }] }] },
      b: { 't.ok': [{ require: ['c'] }] },
      c: 't.ok',
    },
    ['c: true ok', 'b: true ok', 'a: true ok'],
  ],
  'a failed require fails what follows': [
    {
      a: 't.bad',
      b: { 't.ok': [{ require: [{ t: 'a' }] }] },
      c: { 't.ok': [{ require: [{ t: 'b' }] }] },
    },
    ['a: false bad', `b: false ${FAILED}a`, `c: false ${FAILED}b`],
  ],
  'require_any needs one': [
    { a: 't.bad', b: 't.ok', c: { 't.ok': [{ require_any: [{ t: 'a' }, { t: 'b' }] }] } },
    ['a: false bad', 'b: true ok', 'c: true ok'],
  ],
  'require_any with none fails': [
    { a: 't.bad', c: { 't.ok': [{ require_any: [{ t: 'a' }] }] } },
    ['a: false bad', `c: false ${FAILED}a`],
  ],
  'require_in moves over': [
    { a: 't.ok', b: { 't.ok': [{ require_in: [{ t: 'a' }] }] } },
    ['b: true ok', 'a: true ok'],
  ],
  'require_in as a map, and by an id alone': [
    {
      a: 't.ok',
      b: { 't.ok': [{ require_in: { t: 'a' } }] },
      c: { 't.ok': [{ require_in: ['a'] }] },
    },
    ['b: true ok', 'c: true ok', 'a: true ok'],
  ],
  'a requisite finds names and patterns': [
    {
      a: { 't.ok': [{ require: [{ t: 'n?m*' }] }] },
      b: { 't.ok': [{ name: 'named' }] },
    },
    ['b/named: true ok', 'a: true ok'],
  ],
  'a watch of what changed calls mod_watch': [
    { a: 't.changes', b: { 't.ok': [{ watch: [{ t: 'a' }] }] } },
    ['a: true changes', 'b: true mod_watch'],
  ],
  'a watch of what did not change does not': [
    { a: 't.ok', b: { 't.ok': [{ watch: [{ t: 'a' }] }] } },
    ['a: true ok', 'b: true ok'],
  ],
  'a state that changed itself needs no mod_watch': [
    { a: 't.changes', b: { 't.changes': [{ watch: [{ t: 'a' }] }] } },
    ['a: true changes', 'b: true changes'],
  ],
  'a module without mod_watch requires': [
    { a: 't.changes', b: { 'w.ok': [{ watch: [{ t: 'a' }] }] } },
    ['a: true changes', 'b: true ok'],
  ],
  'watch_any and watch_in': [
    {
      a: 't.bad',
      b: { 't.changes': [{ watch_in: [{ t: 'd' }] }] },
      c: { 't.ok': [{ watch_any: [{ t: 'a' }, { t: 'b' }] }] },
      d: 't.ok',
    },
    ['a: false bad', 'b: true changes', 'c: true mod_watch', 'd: true mod_watch'],
  ],
  onchanges: [
    {
      a: 't.ok',
      b: 't.changes',
      c: { 't.ok': [{ onchanges: [{ t: 'a' }] }] },
      d: { 't.ok': [{ onchanges: [{ t: 'b' }] }] },
      e: { 't.ok': [{ onchanges: [{ t: 'a' }, { t: 'b' }] }] },
      f: { 't.ok': [{ onchanges_any: [{ t: 'a' }, { t: 'b' }] }] },
    },
    [
      'a: true ok',
      'b: true changes',
      `c: true ${NOT_CHANGED}`,
      'd: true ok',
      'e: true ok',
      'f: true ok',
    ],
  ],
  onfail: [
    {
      a: 't.ok',
      b: 't.bad',
      c: { 't.ok': [{ onfail: [{ t: 'a' }] }] },
      d: { 't.ok': [{ onfail: [{ t: 'b' }] }] },
      e: { 't.ok': [{ onfail: [{ t: 'a' }, { t: 'b' }] }] },
      f: { 't.ok': [{ onfail_any: [{ t: 'a' }, { t: 'b' }] }] },
      g: { 't.ok': [{ onfail_all: [{ t: 'a' }, { t: 'b' }] }] },
      h: { 't.ok': [{ onfail_all: [{ t: 'b' }] }] },
    },
    [
      'a: true ok',
      'b: false bad',
      `c: true ${NO_FAILURE}`,
      'd: true ok',
      'e: true ok',
      'f: true ok',
      `g: true ${NO_FAILURE}`,
      'h: true ok',
    ],
  ],
  'prereq runs before what would change': [
    { a: 't.changes', b: { 't.ok': [{ prereq: [{ t: 'a' }] }] } },
    ['b: true ok', 'a: true changes'],
  ],
  'prereq does not run before what would not': [
    { a: 't.ok', b: { 't.ok': [{ prereq: [{ t: 'a' }] }] } },
    ['b: true No changes detected', 'a: true ok'],
  ],
  prereq_in: [
    { a: { 't.ok': [{ prereq_in: [{ t: 'b' }] }] }, b: 't.changes' },
    ['b: true No changes detected', 'a: true ok'],
  ],
  'listen runs at the end': [
    { a: { 't.ok': [{ listen: [{ t: 'b' }] }] }, b: 't.changes', c: 't.ok' },
    ['a: true ok', 'b: true changes', 'c: true ok', 'listener_a/a: true mod_watch'],
  ],
  'listen_in, and a listener that names nothing': [
    {
      a: 't.ok',
      b: { 't.changes': [{ listen_in: [{ t: 'a' }] }] },
      c: { 't.ok': [{ listen: [{ t: 'x' }] }] },
    },
    [
      'a: true ok',
      'b: true changes',
      'c: true ok',
      'listener_a/a: true mod_watch',
      'listen_x/listen_t: false Referenced state t: x does not exist',
    ],
  ],
  'use and use_in hand arguments over': [
    {
      a: { 't.ok': [{ comment: 'of a' }] },
      b: { 't.ok': [{ use: [{ t: 'a' }] }] },
      c: { 't.ok': [{ comment: 'of c' }, { use_in: [{ t: 'd' }] }] },
      d: 't.ok',
    },
    ['a: true of a', 'b: true of a', 'c: true of c', 'd: true of c'],
  ],
  'order: numbers, first, last and from the end': [
    {
      a: 't.ok',
      b: { 't.ok': [{ order: 'last' }] },
      c: { 't.ok': [{ order: 2 }] },
      d: { 't.ok': [{ order: 'first' }] },
      e: { 't.ok': [{ order: -1 }] },
    },
    ['d: true ok', 'c: true ok', 'a: true ok', 'e: true ok', 'b: true ok'],
  ],
  'names run in their order, with arguments of their own': [
    { a: { 't.ok': [{ names: ['z', { y: [{ comment: 'own' }] }] }] } },
    ['a/z: true ok', 'a/y: true own'],
  ],
  'a state of two parts, and short forms': [
    { a: { t: ['ok'] }, b: { t: ['ok', { name: 'c' }] }, d: 't.ok' },
    ['a: true ok', 'b/c: true ok', 'd: true ok'],
  ],
  'failhard ends the run': [{ a: { 't.bad': [{ failhard: true }] }, b: 't.ok' }, ['a: false bad']],
  'failhard of a required state too': [
    { a: { 't.ok': [{ require: [{ t: 'b' }] }] }, b: { 't.bad': [{ failhard: true }] } },
    ['b: false bad'],
  ],
  'unless and onlyif call functions': [
    {
      a: { 't.ok': [{ unless: [{ fun: 'yes' }] }] },
      b: { 't.ok': [{ unless: [{ fun: 'no' }] }] },
      c: { 't.ok': [{ onlyif: [{ fun: 'yes' }, { fun: 'no' }] }] },
      d: { 't.ok': [{ onlyif: [{ fun: 'yes' }] }] },
    },
    [
      'a: true unless condition is true',
      'b: true ok',
      'c: true onlyif condition is false',
      'd: true ok',
    ],
  ],
  'retry reports its attempts': [
    { a: { 't.bad': [{ retry: { attempts: 2, interval: 1 } }] } },
    ['a: false Attempt 1: Returned a result of "False", with the following comment: "bad"\nbad'],
  ],
  'an unknown state, a missing argument, an error': [
    { a: 't.nosuch', b: 't.needs', c: 't.throws' },
    [
      "a: false State 't.nosuch' was not found in SLS 'main'\n" +
        "Reason: 't.nosuch' is not available.\n",
      'b: false Missing parameter what for state t.needs\n',
      'c: false An exception occurred in this state: Traceback (most recent call last):\n' +
        'ValueError: broken\n',
    ],
  ],
};

test.each(Object.entries(RUNS))('%s', async (_name, [file, expected]) => {
  expect(told(await runSls({ main: file }))).toEqual(expected);
});

/** The errors in a file, by the name of the case. */
const ERRORS: Readonly<Record<string, readonly [Plain, readonly string[]]>> = {
  'a requisite that names nothing': [
    { a: { 't.ok': [{ require: [{ t: 'x' }] }] } },
    ['Referenced state does not exist for requisite [require: (t: x)] in state [a] in SLS [main]'],
  ],
  'requisites in a circle': [
    {
      a: { 't.ok': [{ require: [{ t: 'b' }] }] },
      b: { 't.ok': [{ name: 'c' }, { require: [{ t: 'a' }] }] },
    },
    [
      "Recursive requisites were found: ({'SLS': 'main', 'ID': 'b', 'NAME': 'c'}, 'require', " +
        "{'SLS': 'main', 'ID': 'a'}), ({'SLS': 'main', 'ID': 'a'}, 'require', {'SLS': 'main', " +
        "'ID': 'b', 'NAME': 'c'})",
    ],
  ],
  'no function': [{ a: { t: [{ x: 1 }] } }, ["No function declared in state 'a' in SLS 'main'"]],
  'two functions': [
    { a: { t: ['ok', 'bad'] } },
    [
      "Too many functions declared in state 'a' in SLS 'main'. " +
        'Please choose one of the following: ' +
        'ok, bad',
    ],
  ],
  'two states of one type': [
    { a: { 't.ok': [], 't.bad': [] } },
    ["ID 'a' in SLS 'main' contains multiple state declarations of the same type"],
  ],
  'a colon without arguments': [
    { a: { 't.ok': null } },
    [
      "ID 'a' in SLS 'main' contains a short declaration (t.ok) with a trailing colon. When not " +
        'passing any arguments to a state, the colon must be omitted.',
    ],
  ],
  'a state that is no list': [
    { a: { t: 'ok' } },
    ["State 'a' in SLS 'main' is not formed as a list"],
  ],
  'an id that is no map': [{ a: 'short' }, ['ID a in SLS main is not a dictionary']],
  'a require that is no list': [
    { a: { 't.ok': [{ require: 'b' }] } },
    ["The require statement in state 'a' in SLS 'main' needs to be formed as a list"],
  ],
  'a requisite with a dot': [
    { a: { 't.ok': [{ require: [{ 't.ok': 'b' }] }] }, b: 't.ok' },
    [
      "Invalid requisite type 't.ok' in state 'a', in SLS 'main'. " +
        'Requisite types must not contain ' +
        "dots, did you mean 't'?",
    ],
  ],
  'an extension of nothing': [
    { extend: { x: { t: ['ok'] } } },
    [
      "Cannot extend ID 'x' in 'base:main'. It is not part of the high state.\n" +
        'This is likely due ' +
        'to a missing include statement or an incorrectly typed ID.\nEnsure that a state with an ' +
        "ID of 'x' is available\nin environment 'base' and to SLS 'main'",
    ],
  ],
  'an include that is no list': [
    { include: 'x', a: 't.ok' },
    [
      'Include Declaration in SLS main is not formed as a list',
      'ID include in SLS main is not a dictionary',
    ],
  ],
  'an include of nothing': [
    { include: [{ dev: 'x' }] },
    [
      'Unknown include: Specified SLS dev: x is not available on the salt master ' +
        'in saltenv(s): dev ',
    ],
  ],
  'an include above the roots': [
    { include: ['..x'] },
    ["Attempted relative include of '..x' within SLS 'base:main' goes beyond top level package "],
  ],
  'an include from an environment that is not there': [
    { include: [{ nowhere: 'x' }] },
    ["Nonexistent saltenv 'nowhere' found in include of 'x' within SLS 'base:main'"],
  ],
  'a file that does not render': [
    { ERROR: 'Jinja broke' },
    ["Rendering SLS 'base:main' failed: Jinja broke"],
  ],
  'a file that is a list': [
    ['a', { b: 1 }],
    [
      'SLS main does not render to a dictionary',
      "Error when rendering state with contents: ['a', OrderedDict([('b', 1)])]",
    ],
  ],
};

test.each(Object.entries(ERRORS))('refused: %s', async (_name, [file, expected]) => {
  expect(told(await runSls({ main: file }))).toEqual(expected);
});

test('a file that is not there is named by what was asked for', async () => {
  expect(told(await runSls({}, ['a.b']))).toEqual([
    "No matching sls found for 'a.b' in env 'base'",
  ]);
});

test('includes come first, relative ones from where they stand, patterns as a whole', async () => {
  const files = {
    main: { include: ['.dir', 'x*'], a: 't.ok' },
    'dir.init': { include: ['.inner'], b: 't.ok' },
    'dir.inner': { include: ['..x1'], c: 't.ok' },
    x1: { d: 't.ok' },
    x2: { e: 't.ok' },
  };
  expect(told(await runSls(files))).toEqual(
    ['d', 'c', 'b', 'e', 'a'].map((id) => `${id}: true ok`),
  );
});

test('two files with one id conflict, unless they say the same', async () => {
  const files = { main: { include: ['x'], a: 't.ok' }, x: { a: 't.bad' } };
  expect(told(await runSls(files))).toEqual([
    'Detected conflicting IDs, SLS IDs need to be globally unique.\n    The conflicting ID is ' +
      "'a' and is found in SLS 'base:main' and SLS 'base:x'",
  ]);
});

test('a require of a file takes all of its states, included ones too', async () => {
  const files = {
    main: { include: ['x'], a: { 't.ok': [{ require: [{ sls: 'x' }] }, { order: 1 }] } },
    x: { include: ['y'], b: 't.ok' },
    y: { c: 't.bad' },
  };
  expect(told(await runSls(files))).toEqual([
    'c: false bad',
    'b: true ok',
    'a: false One or more requisite failed: y.c',
  ]);
});

test('extend changes functions and arguments, and adds requisites', async () => {
  const files = {
    main: {
      include: ['x'],
      extend: { a: { t: ['changes', { comment: 'new' }, { require: [{ t: 'b' }] }] } },
    },
    x: { a: { 't.ok': [{ comment: 'old' }, { require: [{ t: 'c' }] }] }, b: 't.ok', c: 't.ok' },
  };
  expect(told(await runSls(files))).toEqual(['b: true ok', 'c: true ok', 'a: true new']);
});

test('exclude leaves out ids and files', async () => {
  const files = {
    main: { include: ['x', 'y'], exclude: [{ id: 'a' }, 'y'], d: 't.ok' },
    x: { a: 't.ok', b: 't.ok' },
    y: { c: 't.ok' },
  };
  expect(told(await runSls(files))).toEqual(['b: true ok', 'd: true ok']);
});

test('results have what Salt puts into them, in its order', async () => {
  const result = await runSls({ main: { a: 't.ok', b: { 't.ok': [{ onfail: [{ t: 'a' }] }] } } });
  expect([...resultOf(result, 'a').keys()]).toEqual([
    ...['name', 'result', 'changes', 'comment', '__sls__', '__run_num__'],
    ...['start_time', 'duration', '__id__'],
  ]);
  expect([...resultOf(result, 'b').keys()]).toEqual([
    ...['changes', 'result', 'duration', 'start_time', 'comment', '__state_ran__'],
    ...['__run_num__', '__sls__', '__id__', 'name'],
  ]);
});

test('parallel states run side by side, and what requires them waits', async () => {
  const begun: string[] = [];
  let open: () => void = () => undefined;
  const bothBegun = new Promise<void>((resolve) => (open = resolve));
  const side = {
    name: 't.side',
    parameters: [['name']] as const,
    run: async (args: Map<unknown, unknown>) => {
      begun.push(String(args.get('name')));
      if (begun.length === 2) open();
      await bothBegun;
      return new Map<string, unknown>([
        ['name', args.get('name')],
        ['result', true],
        ['changes', new Map()],
        ['comment', 'side'],
      ]);
    },
  };
  const own = ports();
  const result = await runSls(
    {
      main: {
        a: { 't.side': [{ parallel: true }] },
        b: { 't.side': [{ parallel: true }] },
        c: { 't.ok': [{ require: [{ t: 'a' }] }] },
      },
    },
    ['main'],
    {
      ports: {
        stateFunction: (name) => (name === 't.side' ? (side as never) : own.stateFunction(name)),
      },
    },
  );
  expect(told(result)).toEqual(['a: true side', 'b: true side', 'c: true ok']);
  expect(resultOf(result, 'a').get('__parallel__')).toBe(true);
});

test('a test run changes nothing and reports it', async () => {
  const result = await runSls({ main: { a: 't.changes', b: 't.ok' } }, ['main'], {
    options: { test: true },
  });
  expect(told(result)).toEqual(['a: null changes', 'b: true ok']);
});

test('events report each state, or those that ask for it', async () => {
  const tags: string[] = [];
  const fire = (tag: string) => Promise.resolve(void tags.push(tag));
  const file = {
    a: 't.ok',
    b: { 't.ok': [{ fire_event: true }] },
    c: { 't.ok': [{ fire_event: 'x/y' }] },
  };
  await runSls({ main: file }, ['main'], { ports: { fire } });
  expect(tags).toEqual([
    'salt/state_result/20260101000000000000/m_master/b',
    'salt/state_result/20260101000000000000/m_master/x/y',
  ]);
  tags.length = 0;
  await runSls({ main: { a: 't.ok' } }, ['main'], {
    ports: { fire },
    options: { stateEvents: true },
  });
  expect(tags).toEqual(['salt/job/20260101000000000000/prog/m_master/0']);
});

test('a state that is killed ends the run before it', async () => {
  const gate = (id: string) => Promise.resolve(id === 'b' ? ('kill' as const) : ('run' as const));
  const result = await runSls({ main: { a: 't.ok', b: 't.ok', c: 't.ok' } }, ['main'], {
    ports: { gate },
  });
  expect(told(result)).toEqual(['a: true ok']);
});

test('an argument that a function does not take ends the run', async () => {
  const file = { a: { 't.needs': [{ what: 1 }, { other: 2 }] } };
  await expect(runSls({ main: file })).rejects.toThrow(
    "'other' is an invalid keyword argument for 't.needs'",
  );
});

test.each([
  [{ unless: 'test -e /x' }, 'unless runs shell commands'],
  [{ onlyif: ['true'] }, 'onlyif runs shell commands'],
  [{ check_cmd: ['true'] }, 'check_cmd runs shell commands'],
  [{ creates: '/x' }, 'creates looks for files'],
  [{ comment: '__slot__:salt:test.echo(a)' }, 'slots'],
] as const)('%j is refused, and the state does not run', async (argument, text) => {
  const result = await runSls({ main: { a: { 't.ok': [argument] } } });
  expect(told(result)[0]).toContain('a: false An exception occurred in this state');
  expect(told(result)[0]).toContain(text);
});

test('a state with no_log shows no name, comment or change, of a number neither', async () => {
  const result = await runSls({ main: { a: { 't.changes': [{ no_log: true }, { name: 'b' }] } } });
  const mask = '**********';
  const shown = { name: mask, comment: mask, changes: mapOf({ a: mask }), result: true };
  expect(Object.fromEntries(resultOf(result, 'a'))).toMatchObject(shown);
});

test('a run that is repeated after any of its steps does none twice', async () => {
  const file = {
    a: 't.changes',
    b: { 't.ok': [{ watch: [{ t: 'a' }] }] },
    c: { 't.bad': [{ retry: { attempts: 2, interval: 1 } }] },
    d: { 't.ok': [{ prereq: [{ t: 'e' }] }] },
    e: 't.changes',
    f: { 't.ok': [{ onfail: [{ t: 'c' }] }] },
  };
  const whole = new KeptLedger(Infinity);
  const expected = told(await runSls({ main: file }, ['main'], { ports: { ledger: whole } }));
  const steps = whole.kept.size;
  for (let diesAfter = 0; diesAfter < steps; diesAfter += 1) {
    const first = new KeptLedger(diesAfter);
    await expect(runSls({ main: file }, ['main'], { ports: { ledger: first } })).rejects.toThrow(
      RunCutOffError,
    );
    const second = new KeptLedger(Infinity, first.kept);
    const again = await runSls({ main: file }, ['main'], { ports: { ledger: second } });
    expect(told(again)).toEqual(expected);
    // The kept steps were not done again.
    expect(second.finished).toBe(steps - diesAfter);
  }
});

test('a run that is repeated waits for no attempt that was made', async () => {
  const file = { a: { 't.bad': [{ retry: { attempts: 4, interval: 60 } }] } };
  const waits: number[] = [];
  const sleep = (ms: number) => Promise.resolve(void waits.push(ms));
  const whole = new KeptLedger(Infinity);
  const expected = await runSls({ main: file }, ['main'], { ports: { ledger: whole, sleep } });
  expect(waits).toEqual([60_000, 60_000, 60_000]);
  waits.length = 0;
  const two = new KeptLedger(Infinity, new Map([...whole.kept].slice(0, 2)));
  const again = await runSls({ main: file }, ['main'], { ports: { ledger: two, sleep } });
  expect(waits).toEqual([60_000, 60_000]);
  expect(told(again)).toEqual(told(expected));
});

/** Keeps steps as a worker does that dies after some of them. */
class KeptLedger implements StepLedger {
  readonly kept: Map<string, DoneStep>;
  readonly #diesAfter: number;
  finished = 0;

  constructor(diesAfter: number, kept: ReadonlyMap<string, DoneStep> = new Map()) {
    this.#diesAfter = diesAfter;
    this.kept = new Map(kept);
  }

  done(key: string): DoneStep | undefined {
    const step = this.kept.get(key);
    return step && { ...step, ret: new Map(step.ret) };
  }

  earlier(): undefined {
    return undefined;
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  finish(key: string, step: DoneStep): Promise<void> {
    if (this.finished >= this.#diesAfter) return Promise.reject(new RunCutOffError('died'));
    this.finished += 1;
    this.kept.set(key, { ...step, ret: new Map(step.ret) });
    return Promise.resolve();
  }
}

test('high data that is no map, and none at all', async () => {
  expect(await callHigh([], ports(), OPTIONS)).toEqual([
    'High data is not a dictionary and is invalid',
  ]);
  expect(await callHigh(salted({}), ports(), OPTIONS)).toEqual(new Map());
});
