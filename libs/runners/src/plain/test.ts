import { setTimeout as wait } from 'node:timers/promises';
import { mapOf, SaltFloat, type SaltMap } from '@brine/wire';
import { isNumber, pyStr } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import { masterOf, type RunnerFunction } from '../function.ts';
import { printMessage } from '../progress.ts';

/** A day: a runner that sleeps keeps one of the few places for runners. */
const SLEEP_MAX_S = 86_400;

const STREAM_EVENTS = 99;
const STREAM_PAUSE_MS = 100;

const arg: RunnerFunction = {
  name: 'test.arg',
  parameters: [],
  open: 'any',
  doc: 'Shows the arguments it was given; without keywords that begin with __.',
  async run({ args, kwargs }) {
    const shown = new Map([...kwargs].filter(([key]) => !pyStr(key).startsWith('__')));
    return { value: mapOf({ args: [...args], kwargs: shown }) };
  },
};

const rawArg: RunnerFunction = {
  name: 'test.raw_arg',
  parameters: [],
  open: 'any',
  doc: 'Shows the arguments it was given.',
  run: async ({ args, kwargs }) => ({ value: mapOf({ args: [...args], kwargs }) }),
};

const NAMES: Readonly<Record<string, readonly string[]>> = {
  us: [
    ...['foo', 'bar', 'baz', 'qux', 'quux', 'quuz', 'corge'],
    ...['grault', 'garply', 'waldo', 'fred', 'plugh', 'xyzzy', 'thud'],
  ],
  uk: ['wibble', 'wobble', 'wubble', 'flob'],
};

const metasyntactic: RunnerFunction = {
  name: 'test.metasyntactic',
  parameters: [['locality', 'us']],
  doc: 'Shows the names that examples have in a country: locality us (default) or uk.',
  async run({ named }) {
    const locality = pyStr(named.get('locality') ?? '');
    return { value: Object.hasOwn(NAMES, locality) ? [...(NAMES[locality] ?? [])] : null };
  },
};

const stdoutPrint: RunnerFunction = {
  name: 'test.stdout_print',
  parameters: [],
  doc: 'Prints "foo" and returns "bar".',
  async run(_given, { out }) {
    out('foo\n');
    return { value: 'bar' };
  },
};

const sleep: RunnerFunction = {
  name: 'test.sleep',
  parameters: [['s_time', 10]],
  doc: 'Prints s_time, waits so many seconds (default 10, at most a day), and returns True.',
  async run({ named }, { out }) {
    const given = named.get('s_time') ?? null;
    const seconds = given instanceof SaltFloat ? given.value : Number(given);
    out(`${pyStr(given)}\n`);
    if (!isNumber(given) || !(seconds >= 0 && seconds <= SLEEP_MAX_S)) {
      throw new InvalidArgumentsError(`s_time must be 0 to ${SLEEP_MAX_S} seconds`);
    }
    await wait(seconds * 1000);
    return { value: true };
  },
};

const stream: RunnerFunction = {
  name: 'test.stream',
  parameters: [],
  doc: 'Fires 99 events of progress, one each tenth of a second, and returns True.',
  async run(_given, context) {
    for (let percent = 1; percent <= STREAM_EVENTS; percent += 1) {
      await printMessage(context, true, `Runner is ${percent}% done`);
      await wait(STREAM_PAUSE_MS);
    }
    return { value: true };
  },
};

const getOpts: RunnerFunction = {
  name: 'test.get_opts',
  parameters: [],
  doc:
    'Shows the configuration of the master; secrets are masked, as brine config masks them. A ' +
    'caller with limited rights does not see the options below brine, which Salt does not have.',
  async run(_given, context) {
    const master = masterOf(context);
    const shown: SaltMap = new Map(master.shownOptions);
    if (master.call.caller !== undefined) shown.delete('brine');
    return { value: shown };
  },
};

export const TEST_RUNNER: readonly RunnerFunction[] = [
  arg,
  getOpts,
  metasyntactic,
  rawArg,
  sleep,
  stdoutPrint,
  stream,
];
