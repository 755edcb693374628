import { readFileSync } from 'node:fs';
import { mapOf, SaltFloat, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { displayOf } from './display.ts';
import { DEFAULT_STATE_DISPLAY } from './outputter.ts';

function state(
  order: number,
  fields: Readonly<Record<string, SaltValue>>,
  changes: SaltMap = new Map(),
): SaltMap {
  return mapOf({
    name: 'n',
    changes,
    result: true,
    comment: 'Success!',
    __run_num__: order,
    start_time: '10:00:00.000001',
    duration: 0.5,
    ...fields,
  });
}

const STATES = mapOf({
  'web1.example': mapOf({
    'cmd_|-bad_|-exit 3_|-run': state(1, { result: false, comment: 'two\nlines' }),
    'test_|-ok_|-ok_|-nop': state(
      0,
      { warnings: ['careful now', 'and again'], duration: new SaltFloat(2) },
      mapOf({ testing: mapOf({ new: 'a', old: 'b' }) }),
    ),
  }),
});

function show(output: string, color = false): string {
  return displayOf(STATES, 'highstate', { color, state: { ...DEFAULT_STATE_DISPLAY, output } })
    .text;
}

describe('highstate', () => {
  it('shows states in the order of their run, then the summary', () => {
    expect(show('full')).toBe(
      [
        'web1.example:',
        '----------',
        '          ID: ok',
        '    Function: test.nop',
        '      Result: True',
        '     Comment: Success!',
        '     Started: 10:00:00.000001',
        '    Duration: 2.0 ms',
        '     Changes:   ',
        '              ----------',
        '              testing:',
        '                  ----------',
        '                  new:',
        '                      a',
        '                  old:',
        '                      b',
        '    Warnings: careful now and again',
        '----------',
        '          ID: bad',
        '    Function: cmd.run',
        '        Name: exit 3',
        '      Result: False',
        '     Comment: two',
        '              lines',
        '     Started: 10:00:00.000001',
        '    Duration: 0.5 ms',
        '     Changes:   ',
        '',
        'Summary for web1.example',
        '------------',
        'Succeeded: 1 (changed=1)',
        'Failed:    1',
        'Warnings:  1',
        '------------',
        'Total states run:     2',
        'Total run time:   2.500 ms',
      ].join('\n'),
    );
  });

  it('shows a state that is fine in one line where mixed was asked for', () => {
    const lines = show('mixed').split('\n');
    expect(lines[3]).toBe(
      'and again  Name: ok - Function: test.nop - Result: Changed - Started: 10:00:00.000001 - ' +
        'Duration: 2.0 ms',
    );
    expect(lines).toContain('          ID: bad');
  });

  it.each<[exclude: SaltValue, terse: SaltValue, shown: readonly string[]]>([
    [[], [], ['          ID: ok', '          ID: bad']],
    ['True,', [], ['          ID: bad']],
    [['False'], [], ['          ID: ok']],
    ['False,None', 'True', ['and again  Name: ok - Function: test.nop - Result: Changed']],
    // Only texts name a result.
    [[true], [false], ['          ID: ok', '          ID: bad']],
  ])('filter leaves out %j, and shows %j in one line', (exclude, terse, shown) => {
    const filter = { ...DEFAULT_STATE_DISPLAY, output: 'filter', profile: false, exclude, terse };
    const { text } = displayOf(STATES, 'highstate', { color: false, state: filter });
    expect(text.split('\n').filter((line) => /  ID: |Name: ok/.test(line))).toEqual(shown);
  });

  it('indents an orchestration in a step at line feeds alone', () => {
    const inner = mapOf({ m: mapOf({ 't_|-a_|-a_|-nop': state(0, { comment: 'a\rb\u2028c' }) }) });
    const step = state(0, { name: 'state.orchestrate' }, inner);
    const data = mapOf({ master: mapOf({ 'salt_|-s_|-state.orchestrate_|-runner': step }) });
    const { text } = displayOf(data, 'highstate', { color: false });
    expect(text).toContain(`\n${' '.repeat(14)}     Comment: a\rb\u2028c\n`);
  });

  it('filter by what holds no results shows the data nested, as in Salt', () => {
    const filter = { ...DEFAULT_STATE_DISPLAY, output: 'filter', exclude: true };
    const { text } = displayOf(STATES, 'highstate', { color: false, state: filter });
    expect(text).toBe(displayOf(STATES, 'nested', { color: false }).text);
  });

  it('makes the heading red after a failed state', () => {
    expect(show('full', true).split('\n')[0]).toBe('\x1b[0;31mweb1.example:\x1b[0;0m');
  });

  it('lists errors that are no states', () => {
    const data = mapOf({ m: ["No matching sls found for 'x' in env 'base'"] });
    const { text } = displayOf(data, 'highstate', { color: false });
    expect(text).toBe(
      'm:\n    Data failed to compile:\n----------\n' +
        "    No matching sls found for 'x' in env 'base'",
    );
  });
});

interface Recorded {
  readonly packed: string;
  readonly mode: string;
  readonly verbose: boolean;
  readonly diff: boolean;
  readonly color: boolean;
  readonly shown: string | null;
}

it('shows random state returns as Salt does, in every mode', () => {
  const path = new URL('../../fixtures/highstate.json', import.meta.url);
  const recorded = JSON.parse(readFileSync(path, 'utf8')) as Recorded[];
  expect(recorded.length).toBeGreaterThan(30);
  for (const { packed, mode, verbose, diff, color, shown } of recorded) {
    const state = { ...DEFAULT_STATE_DISPLAY, output: mode, verbose, diff };
    const value = unpack(Buffer.from(packed, 'hex'));
    expect(displayOf(value, 'highstate', { color, state }).text).toBe(shown ?? '');
  }
});
