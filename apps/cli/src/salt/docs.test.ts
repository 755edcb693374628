import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { showDocs } from './docs.ts';

/** What is printed without `--out`, or with it. */
function shown(returns: SaltMap, output?: string) {
  const printed: string[] = [];
  const errors: string[] = [];
  const terminal = {
    out: (text: string) => printed.push(text),
    err: (t: string) => errors.push(t),
  };
  const printer = {
    options: { output },
    show: (value: ReadonlyMap<string, string>, outputter: string) => {
      for (const [fun, text] of value) printed.push(`${outputter} ${fun},${text}`);
      return output !== 'key';
    },
  };
  const code = showDocs({ printer, terminal } as never, returns);
  return { code, printed, errors };
}

const RETURNS = mapOf({
  web1: mapOf({ 'test.b': 'of web1', 'test.none': null, 'test.empty': '' }),
  dead1: 'Minion did not return. [No response]',
  web2: mapOf({ 'test.b': 'of web2', 'test.a': 'only web2' }),
});

test('each function shows once, sorted, with the text of the minion that was first', () => {
  expect(shown(RETURNS)).toEqual({
    code: 0,
    printed: ['test.a:\nonly web2\n\n', 'test.b:\nof web1\n\n'],
    errors: [],
  });
});

test('with --out each function is a display of its own', () => {
  expect(shown(RETURNS, 'json').printed).toEqual([
    'nested test.a,only web2',
    'nested test.b,of web1',
  ]);
});

test('a text that no outputter can show ends it, as an error', () => {
  const { code, printed } = shown(RETURNS, 'key');
  expect(code).toBe(1);
  expect(printed).toHaveLength(1);
});

test('minions that know no such function print nothing', () => {
  expect(shown(mapOf({ web1: mapOf({}) }))).toEqual({ code: 0, printed: [], errors: [] });
});

test('no minion at all is said in words of Salt', () => {
  expect(shown(mapOf({}))).toEqual({
    code: 2,
    printed: [],
    errors: ['No minions found to gather docs from\n'],
  });
});
