import type { StateCall, StateFunction } from '@brine/states';
import { tagOf } from '@brine/states';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { traverse } from '../plain/traverse.ts';
import { pythonError, type StateWorld } from './world.ts';

/** The states of Salt's `test` module, whose results depend on their arguments alone. */
export function testStates(world: Pick<StateWorld, 'pillar'>): readonly StateFunction[] {
  return [
    simple('nop', (args) => outcome(args, true, 'Success!', false)),
    simple('succeed_without_changes', (args) => outcome(args, true, commentOf(args, GOOD), false)),
    simple('fail_without_changes', (args, { test }) =>
      outcome(args, false, test ? IF_FAILED : commentOf(args, BAD), false),
    ),
    simple('succeed_with_changes', (args, { test }) =>
      test
        ? outcome(args, null, IF_CHANGED, true)
        : outcome(args, true, commentOf(args, GOOD), true),
    ),
    simple('fail_with_changes', (args, { test }) =>
      test
        ? outcome(args, null, IF_FAILED_CHANGED, true)
        : outcome(args, false, commentOf(args, BAD), true),
    ),
    CONFIGURABLE,
    {
      name: 'test.show_notification',
      parameters: [['name'], ['text', null]],
      open: true,
      run(args) {
        const text = args.get('text') ?? null;
        if (!isTruthy(text)) throw invocation('Missing required argument text.');
        return outcome(args, true, text, false);
      },
    },
    WATCH,
    checkPillar(world),
  ];
}

const GOOD = 'Success!';
const BAD = 'Failure!';
const IF_FAILED = "If we weren't testing, this would be a failure!";
const IF_CHANGED = "If we weren't testing, this would be successful with changes";
const IF_FAILED_CHANGED = "If we weren't testing, this would be failed with changes";

function simple(name: string, run: (args: SaltMap, call: StateCall) => SaltMap): StateFunction {
  return { name: `test.${name}`, parameters: [['name']], open: true, run };
}

function commentOf(args: SaltMap, preset: string): SaltValue {
  return args.get('comment') ?? preset;
}

function outcome(
  args: SaltMap,
  result: boolean | null,
  comment: SaltValue,
  changed: boolean,
): SaltMap {
  const changes = changed ? pretended() : mapOf({});
  return mapOf({ name: args.get('name') ?? null, changes, result, comment });
}

function pretended(): SaltMap {
  const testing = mapOf({ old: 'Unchanged', new: 'Something pretended to change' });
  return mapOf({ testing });
}

function invocation(text: string): Error {
  return pythonError('salt.exceptions.SaltInvocationError', text);
}

const CONFIGURABLE: StateFunction = {
  name: 'test.configurable_test_state',
  parameters: [
    ['name'],
    ['changes', true],
    ['result', true],
    ['comment', ''],
    ['warnings', null],
    ['allow_test_mode_failure', false],
  ],
  run(args, { test }) {
    const changed = chosen(args.get('changes') ?? null, CHANGES);
    const result = chosen(args.get('result') ?? null, RESULT);
    const comment = args.get('comment') ?? '';
    const ret = outcome(args, result, comment, changed);
    const warnings = args.get('warnings') ?? null;
    if (typeof warnings === 'string') ret.set('warnings', [warnings]);
    else if (Array.isArray(warnings)) ret.set('warnings', warnings);
    else if (warnings !== null) throw invocation(WARNINGS);
    if (!test) return ret;
    const mayFail = isTruthy(args.get('allow_test_mode_failure')) && args.get('result') === false;
    const shown = args.get('changes') === false ? true : null;
    ret.set('result', mayFail ? false : shown);
    return ret.set('comment', isTruthy(comment) ? comment : 'This is a test');
  },
};

const CHANGES =
  "You have specified the state option 'changes' with invalid arguments. It must be either " +
  "True, False, or 'Random'";
const RESULT =
  "You have specified the state option 'result' with invalid arguments. It must be either " +
  "True, False, or 'Random'";
const WARNINGS =
  "You have specified the state option 'warnings' with invalid arguments. It must be a string " +
  'or a list of strings';

function chosen(value: SaltValue, invalid: string): boolean {
  if (typeof value === 'boolean') return value;
  if (pyStr(value).toLowerCase() === 'random') return Math.random() < 0.5;
  throw invocation(invalid);
}

/** The function that a watch of these states starts. */
const WATCH: StateFunction = {
  name: 'test.mod_watch',
  parameters: [['name'], ['sfun', null]],
  open: true,
  run(args, { chunk, running }) {
    const requisites = chunk.get('__reqs__');
    const watched = isMap(requisites) ? requisites.get('watch') : undefined;
    const changed = (Array.isArray(watched) ? watched : []).filter(
      (one) => isMap(one) && isTruthy(running.get(tagOf(one))?.get('changes')),
    );
    const shown = changed.map((one) => {
      const map = one as SaltMap;
      return `${pyStr(map.get('state') ?? '')}: ${pyStr(map.get('__id__') ?? '')}`;
    });
    return mapOf({
      name: args.get('name') ?? null,
      result: args.get('result') ?? true,
      comment: args.get('comment') ?? 'Watch statement fired.',
      changes: args.get('changes') ?? mapOf({ 'Requisites with changes': shown }),
    });
  },
};

/** Python's types, with their names in `check_pillar`. */
const TYPES: readonly (readonly [
  argument: string,
  shown: string,
  fits: (value: SaltValue) => boolean,
])[] = [
  ['boolean', "<class 'bool'>", (value) => typeof value === 'boolean'],
  ['integer', "<class 'int'>", isInteger],
  ['string', "(<class 'str'>,)", (value) => typeof value === 'string'],
  ['listing', "<class 'list'>", Array.isArray],
  ['dictionary', "<class 'dict'>", isMap],
];

function isInteger(value: SaltValue): boolean {
  // In Python a boolean is an integer too.
  return typeof value === 'boolean' || typeof value === 'bigint' || Number.isInteger(value);
}

function checkPillar(world: Pick<StateWorld, 'pillar'>): StateFunction {
  const kinds = TYPES.map(([name]) => [name, null] as const);
  return {
    name: 'test.check_pillar',
    parameters: [['name'], ['present', null], ...kinds, ['verbose', false]],
    run(args) {
      if (!['present', ...TYPES.map(([name]) => name)].some((key) => isTruthy(args.get(key)))) {
        throw invocation('Missing required argument text.');
      }
      const failed = new Map<string, string | undefined>();
      const fine = new Map<string, string | undefined>();
      const look = (list: string, shown?: string, fits?: (value: SaltValue) => boolean): void => {
        for (const key of namesIn(args.get(list))) {
          const value = traverse(world.pillar(), key.split(':')) ?? null;
          if (value === null) failed.set(key, undefined);
          else if (fits?.(value) === false) failed.set(key, shown);
          else if (isTruthy(args.get('verbose'))) fine.set(key, shown);
        }
      };
      look('present');
      for (const [argument, shown, fits] of TYPES) look(argument, shown, fits);
      return outcome(args, failed.size === 0, pillarComment(failed, fine), false);
    },
  };
}

function namesIn(value: SaltValue | undefined): string[] {
  if (!isTruthy(value)) return [];
  if (Array.isArray(value)) return value.map(pyStr);
  if (typeof value === 'string') return [value];
  throw pythonError('TypeError', '');
}

function pillarComment(
  failed: ReadonlyMap<string, string | undefined>,
  fine: ReadonlyMap<string, string | undefined>,
): string {
  let comment = '';
  for (const [key, type] of failed) {
    const what = type === undefined ? 'is missing' : `is not ${type}`;
    comment += `Pillar key "${key}" ${what}.\n`;
  }
  if (fine.size > 0) comment += 'Those keys passed the check:\n';
  for (const [key, type] of fine) comment += `- ${key} (${type ?? 'None'})\n`;
  return comment;
}
