import { join } from 'node:path';
import { DEFAULT_STATE_DISPLAY, displayOf, type DisplayOptions } from '@brine/client';
import { newestOf } from '@brine/testing';
import { drawn } from '@brine/testing/circle';
import { mapOf, pack, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { askSalt } from './target-oracle.ts';

const ORACLE = join(import.meta.dirname, 'outputters-oracle.py');
// The same values each run: a difference must be found again.
const SEED = 20261126;
const VALUES = 10_000;
/** The part of the values that a change asks Salt for. */
const PART = 0.2;

/** One way to show a value: as Salt's options have it, and as ours. */
interface Form {
  readonly out: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly ours: Partial<DisplayOptions>;
}

const form = (
  out: string,
  options: Readonly<Record<string, unknown>> = {},
  ours: Partial<DisplayOptions> = {},
): Form => ({ out, options: { color: false, ...options }, ours });

const indented = (out: string, indent: number): Form =>
  form(out, { output_indent: indent }, { indent });

const FORMS: readonly Form[] = [
  form('nested'),
  form('nested', { color: true }, { color: true }),
  form('yaml'),
  indented('yaml', 4),
  form('json'),
  indented('json', -1),
  form('raw'),
  form('pprint'),
  indented('pprint', 4),
  form('txt'),
  form('highstate'),
];

const letters = fc.constantFrom(
  ...['a', 'b', 'Z', '0', '9', ' ', ' ', '\n', '\t', '\r\n', ':', '#', '-', '?', "'", '"', '\\'],
  ...['%', '@', '`', '{', '}', '[', ']', ',', '&', '*', '!', '|', '>', '=', '.', '/', '\x1b'],
  ...['\x00', '\x07', '\x7f', '\x85', '\xa0', '\u2028', 'ü', '世', '\u{1f9c2}', 'é', 'ß'],
);
const words = fc.constantFrom(
  ...['yes', 'no', 'null', 'None', 'True', '~', '', '1.5', '0x1f', '1e3', '12:30', '2026-11-26'],
  ...['---', '...', '- a', 'a: b', 'key', 'value with several words in it', '<<', '=', '0o7'],
);
const textOf: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.array(letters, { maxLength: 12 }).map((all) => all.join('')) },
  { weight: 3, arbitrary: words },
  {
    weight: 1,
    arbitrary: fc.array(words, { minLength: 5, maxLength: 30 }).map((w) => w.join(' ')),
  },
);
const floats = fc.oneof(
  fc.constantFrom(0.1, -2.5, 1e100, 1e-7, 123456.789, 1e16 + 2, 3.0000000000000004, -0.0),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const scalar: fc.Arbitrary<SaltValue> = fc.oneof(
  { weight: 6, arbitrary: textOf },
  { weight: 3, arbitrary: fc.integer({ min: -1e6, max: 1e6 }) },
  { weight: 1, arbitrary: fc.constantFrom(2n ** 63n, -(2n ** 63n), 2 ** 40) },
  { weight: 2, arbitrary: floats.map((value) => new SaltFloat(value)) },
  { weight: 2, arbitrary: fc.boolean() },
  { weight: 1, arbitrary: fc.constant(null) },
  // Bytes that are UTF-8 arrive as text; these are none.
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 20 })
      .map((bytes) => new Uint8Array([...bytes, 0xff, ...bytes.slice(0, 3)])),
  },
);
// Python takes 1, 1.0 and True for one key: only whole numbers beside texts.
const key: fc.Arbitrary<SaltValue> = fc.oneof(
  { weight: 8, arbitrary: textOf },
  { weight: 1, arbitrary: fc.integer({ min: -20, max: 20 }) },
);
const values: fc.Arbitrary<SaltValue> = fc.letrec<{ value: SaltValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 3, arbitrary: scalar },
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((all) => new Map(all)),
  ),
})).value;

interface Answer {
  readonly shown: readonly { readonly text?: string | null; readonly error?: string }[];
}

interface Difference {
  readonly out: string;
  readonly options: unknown;
  readonly packed: string;
  readonly salt: string;
  readonly ours: string;
}

async function compare(
  cases: readonly { readonly value: SaltValue; readonly retcode: number }[],
  forms: readonly Form[],
  version = newestOf('3008'),
): Promise<Difference[]> {
  const questions = cases.map(({ value, retcode }) => ({
    packed: pack(value, 'bin').toString('hex'),
    retcode,
    forms: forms.map(({ out, options }) => ({ out, options })),
  }));
  const answers = (await askSalt(questions, ORACLE, version)) as Answer[];
  expect(answers.length).toBe(cases.length);
  return cases.flatMap(({ value, retcode }, at) =>
    forms.flatMap(({ out, options, ours }, index): Difference[] => {
      const answer = answers[at]?.shown[index];
      // The one difference on purpose: highstate of a list with bytes ends Salt with an error.
      if (out === 'highstate' && answer?.error === 'UnicodeDecodeError') return [];
      const salt = answer?.error === undefined ? (answer?.text ?? '') : `error ${answer.error}`;
      const mine = displayOf(value, out, { color: false, ...ours }, retcode).text;
      const packed = questions[at]?.packed ?? '';
      return mine === salt ? [] : [{ out, options, packed, salt, ours: mine }];
    }),
  );
}

function sample<T>(what: string, arbitrary: fc.Arbitrary<T>, count: number): readonly T[] {
  const all = fc.sample(arbitrary, { seed: SEED, numRuns: count });
  return drawn(what, [...all.entries()], count * PART, ([at]) => String(at)).map(([, one]) => one);
}

test('ten thousand random values are shown as Salt shows them, in eleven forms', async () => {
  const given = sample('values', fc.tuple(values, fc.constantFrom(0, 0, 1)), VALUES);
  const cases = given.map(([value, retcode]) => ({
    value: mapOf({ 'web1.example': value }),
    retcode,
  }));
  const differences = await compare(cases, FORMS);
  expect(differences.slice(0, 20)).toEqual([]);
});

const milliseconds = fc
  .double({ min: 0, max: 5000, noNaN: true })
  .map((ms) => new SaltFloat(Number(ms.toFixed(3))));
const durations = fc.oneof(milliseconds, fc.constantFrom<SaltValue>('0.5 ms', '12.25 ms', 7));
const changes: fc.Arbitrary<SaltValue> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(mapOf({})) },
  fc.array(fc.tuple(textOf, scalar), { maxLength: 3 }).map((all) => new Map(all)),
  fc.constant(mapOf({ diff: '--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n' })),
);
/** A state; where `isWhole`, with all that a real minion gives it. */
const stateOf = (isWhole: boolean) =>
  fc
    .record({
      module: fc.constantFrom('file', 'cmd', 'test', 'pkg'),
      fun: fc.constantFrom('managed', 'run', 'nop', 'installed'),
      id: fc.constantFrom('one', 'two', 'three words here'),
      name: fc.constantFrom('one', '/etc/motd', 'echo "a b"'),
      result: fc.constantFrom<SaltValue>(true, true, false, null),
      comment: textOf,
      changes,
      duration: isWhole ? milliseconds : durations,
      order: fc.integer({ min: 0, max: 50 }),
      warnings: fc.option(fc.array(words, { minLength: 1, maxLength: 12 }), { nil: undefined }),
      timed: isWhole ? fc.constant(true) : fc.boolean(),
    })
    .map((one): [string, SaltMap] => [
      `${one.module}_|-${one.id}_|-${one.name}_|-${one.fun}`,
      mapOf({
        __id__: one.id,
        __run_num__: one.order,
        __sls__: 'tree.part',
        name: one.name,
        result: one.result,
        comment: one.comment,
        changes: one.changes,
        ...(one.timed ? { start_time: '10:00:00.00000' + String(one.order % 10) } : {}),
        ...(one.timed ? { duration: one.duration } : {}),
        ...(one.warnings === undefined ? {} : { warnings: one.warnings }),
      }),
    ]);
const statesOf = (isWhole: boolean): fc.Arbitrary<SaltValue> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.array(stateOf(isWhole), { maxLength: 6 }).map((all) => new Map(all)),
    },
    { weight: 1, arbitrary: fc.array(textOf, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: textOf },
    { weight: 1, arbitrary: fc.constantFrom<SaltValue>(true, 7) },
  );

const stateForm = (
  options: Readonly<Record<string, unknown>>,
  ours: Partial<typeof DEFAULT_STATE_DISPLAY>,
  color = false,
): Form =>
  form('highstate', { color, ...options }, { color, state: { ...DEFAULT_STATE_DISPLAY, ...ours } });

const STATE_FORMS: readonly Form[] = [
  stateForm({}, {}),
  stateForm({}, {}, true),
  ...['terse', 'mixed', 'changes', 'full_id', 'terse_id', 'mixed_id'].map((output) =>
    stateForm({ state_output: output }, { output }),
  ),
  stateForm({ state_verbose: false }, { verbose: false }),
  stateForm({ state_output_diff: true }, { diff: true }),
  stateForm({ state_output_profile: false }, { profile: false }),
  stateForm({ state_output_pct: true }, { percent: true }),
  stateForm(
    { state_tabular: true, state_output: 'terse' },
    { tabular: true, output: 'terse' },
    true,
  ),
];

// Where a state lacks its time, Salt gives up midway and has changed the order of some by then.
const COMPRESSED_FORMS: readonly Form[] = [
  stateForm({ state_compress_ids: true }, { compressIds: true }),
  stateForm(
    { state_compress_ids: true, state_output: 'terse_id' },
    { compressIds: true, output: 'terse_id' },
  ),
];

test('random state returns are shown as Salt shows them, in every form', async () => {
  for (const [forms, isWhole] of [
    [STATE_FORMS, false],
    [COMPRESSED_FORMS, true],
  ] as const) {
    const given = sample('states', statesOf(isWhole), VALUES / 5);
    const cases = given.map((value) => ({ value: mapOf({ 'web1.example': value }), retcode: 0 }));
    const differences = await compare(cases, forms);
    expect(differences.slice(0, 20)).toEqual([]);
  }
});

/** Results as `state_output_exclude` may name them, and what names none. */
const results: fc.Arbitrary<SaltValue> = fc.constantFrom<SaltValue>(
  ...['True,', 'False,None', 'True', '', 'true,none'],
  ...[[], ['True', 'None'], ['False'], [true, 7], true, null, 3],
);

/** Many of the options at once, as the master's file and the command line set them. */
const stateOptions: fc.Arbitrary<Form> = fc
  .record({
    output: fc.constantFrom(
      ...['full', 'terse', 'mixed', 'changes', 'filter', 'filter', 'Terse', 'other', ''],
      ...['full_id', 'terse_id', 'mixed_id', 'changes_id', 'filter_id'],
    ),
    verbose: fc.boolean(),
    diff: fc.boolean(),
    profile: fc.boolean(),
    percent: fc.boolean(),
    tabular: fc.boolean(),
    exclude: results,
    terse: results,
    color: fc.boolean(),
  })
  .map(({ color, ...ours }) =>
    stateForm(
      {
        state_output: ours.output,
        state_verbose: ours.verbose,
        state_output_diff: ours.diff,
        state_output_profile: ours.profile,
        state_output_pct: ours.percent,
        state_tabular: ours.tabular,
        state_output_exclude: ours.exclude,
        state_output_terse: ours.terse,
      },
      ours,
      color,
    ),
  );

/** States of which some ran states of minions, or another orchestration. */
const orchestrated: fc.Arbitrary<SaltValue> = fc
  .array(
    fc.tuple(
      stateOf(true),
      fc.array(fc.tuple(fc.constantFrom('web1.example', 'db1.example'), statesOf(true)), {
        maxLength: 2,
      }),
      fc.constantFrom('as it is', 'minions', 'runner', 'bare'),
    ),
    { maxLength: 4 },
  )
  .map((steps) => {
    const shown = steps.map(([[tag, state], hosts, kind]): [string, SaltMap] => {
      const ret = new Map<SaltValue, SaltValue>(hosts);
      if (kind === 'minions') state.set('changes', mapOf({ out: 'highstate', ret }));
      if (kind === 'runner' || kind === 'bare') state.set('name', 'state.orchestrate');
      if (kind === 'runner') {
        const data = mapOf({ data: ret, outputter: 'highstate', retcode: 0 });
        state.set('changes', mapOf({ return: data }));
      }
      return [tag, state];
    });
    return new Map<SaltValue, SaltValue>(shown);
  });

/** Sets of options: each makes Salt load its outputters again. */
const SETS = 60;

test('states are shown as Salt shows them with any set of options', async () => {
  const forms = fc.sample(stateOptions, { seed: SEED, numRuns: SETS });
  for (const [what, arbitrary] of [
    ['states with options', statesOf(true)],
    ['orchestrations', orchestrated],
  ] as const) {
    const given = sample(what, arbitrary, VALUES / 40);
    const cases = given.map((value) => ({ value: mapOf({ 'web1.example': value }), retcode: 0 }));
    const differences = await compare(cases, forms);
    expect(differences.slice(0, 20)).toEqual([]);
  }
});

test('outputters that 3008 no longer has show values as those of 3006', async () => {
  const plain = [form('newline_values_only'), form('quiet')];
  for (const [arbitrary, forms] of [
    [values, plain],
    [statesOf(true), [...plain, form('profile')]],
  ] as const) {
    const given = sample('values of 3006', arbitrary, VALUES / 10);
    const cases = given.map((value) => ({ value: mapOf({ 'web1.example': value }), retcode: 0 }));
    const differences = await compare(cases, forms, newestOf('3006'));
    expect(differences.slice(0, 20)).toEqual([]);
  }
});
