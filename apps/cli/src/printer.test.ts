import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { DISPLAY_DEFAULTS, type DisplayConfig, Printer } from './printer.ts';

const state = (name: string, result: boolean): [string, SaltMap] => [
  `test_|-${name}_|-${name}_|-nop`,
  mapOf({ name, result, changes: mapOf({}), comment: '', __run_num__: 0 }),
];
const RETURN = mapOf({ web1: new Map([state('good', true), state('bad', false)]) });

/** The names of the states that a printer shows. */
function shown(config: Partial<DisplayConfig>, kwargs?: SaltMap): string[] {
  const printed: string[] = [];
  const options = { values: new Map(), given: new Set<string>(), args: [], ineffective: [] };
  const terminal = { out: (text: string) => void printed.push(text), isTerminal: false };
  const given = { ...DISPLAY_DEFAULTS, stateOutput: 'filter', ...config };
  new Printer(options, given, terminal as never, { kwargs }).show(RETURN, 'highstate');
  return [...printed.join('').matchAll(/ID: (\w+)/g)].map(([, name]) => name ?? '');
}

test('filter leaves out the results that the option names, as a text or a list', () => {
  expect(shown({})).toEqual(['good', 'bad']);
  expect(shown({ stateOutputExclude: 'True,None' })).toEqual(['bad']);
  expect(shown({ stateOutputExclude: ['False'] })).toEqual(['good']);
  expect(shown({ stateOutputTerse: ['True', 'False'] })).toEqual([]);
});

test('an argument of the command wins over the option', () => {
  const config = { stateOutputExclude: 'True' };
  expect(shown(config, mapOf({ exclude: 'False,' }))).toEqual(['good']);
  expect(shown(config, mapOf({ pillar: mapOf({}) }))).toEqual(['bad']);
});
