import { expect, test } from 'vitest';
import { parseSearch, pick, searchText } from './search.ts';

test.each([
  ['?fun=state.*&minion=web', { fun: 'state.*', minion: 'web' }],
  ['?state=failed&state=never', { state: ['failed', 'never'] }],
  ['?q=a%26b%3Dc%20%2B+d', { q: 'a&b=c + d' }],
  ['?__proto__=x', Object.fromEntries([['__proto__', 'x']])],
  ['', {}],
])('%s is read', (text, search) => {
  expect(parseSearch(text)).toEqual(search);
});

test.each([
  { fun: 'state.*' },
  { state: ['failed', 'never'] },
  { q: '100 % & more = <b>', x: 'ü\u202E' },
])('what is written is read again: %j', (search) => {
  expect(parseSearch(searchText(search))).toEqual(search);
});

test('what is empty, undefined or no text is left out', () => {
  expect(searchText({ a: '', b: undefined, c: 3, d: [''], e: 'x' })).toBe('?e=x');
  expect(searchText({ a: '' })).toBe('');
});

test('a page takes the parameters that it has, as one text each', () => {
  const search = { fun: 'x', state: ['a', 'b'], other: 'y', user: '' };
  expect(pick(search, ['fun', 'state', 'user'])).toEqual({ fun: 'x' });
});
