import type { Right } from '@brine/api';
import { expect, test } from 'vitest';
import { allowedTarget } from './allowed-target.ts';

const right = (on: string, ...funs: readonly string[]): Right => ({
  on,
  functions: funs.map((fun) => ({ fun })),
});
const RIGHTS = [
  right('web*', 'test\\..*'),
  right('G@os:Debian and db*', '.*'),
  right('@runner', '.*'),
];

const allowed = (tgt: string, tgtType = 'glob', fun = 'test.ping') =>
  allowedTarget({ tgt, tgtType: tgtType as 'glob', fun }, RIGHTS);

test('is the target within the rights that allow the function', () => {
  expect(allowed('*')).toBe('( * ) and ( ( web* ) or ( G@os:Debian and db* ) )');
  expect(allowed('*', 'glob', 'state.apply')).toBe('( * ) and ( ( G@os:Debian and db* ) )');
});

test.each([
  ['list', 'a, b', 'L@a,b'],
  ['grain', 'os:Debian', 'G@os:Debian'],
  ['pcre', 'web\\d+', 'E@web\\d+'],
  ['nodegroup', 'web', 'N@web'],
  ['compound', 'G@os:Debian or a*', 'G@os:Debian or a*'],
])('has a target of kind %s as a term', (kind, tgt, term) => {
  expect(allowed(tgt, kind, 'cmd.run')).toBe(`( ${term} ) and ( ( G@os:Debian and db* ) )`);
});

test('there is none without a right to the function, or for what is no term', () => {
  expect(allowedTarget({ tgt: '*', tgtType: 'glob', fun: 'x.y' }, [right('web*', 'test.*')])).toBe(
    undefined,
  );
  expect(allowedTarget({ tgt: '*', tgtType: 'glob', fun: 'x.y' }, [right('@runner', '.*')])).toBe(
    undefined,
  );
  expect(allowed('os:Arch Linux', 'grain')).toBeUndefined();
  expect(allowed(' ')).toBeUndefined();
});
