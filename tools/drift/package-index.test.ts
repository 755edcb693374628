import { expect, test } from 'vitest';
import { newestPublished, newsOf } from './package-index.ts';

const PRINTED = `salt (3008.5)
Available versions: 3008.5, 3008.2, 3007.9, 3007.17, 3006.30, 3005.5, 3004rc1, 2019.2.8
`;

test('the newest release of a line is the one of the highest point', () => {
  const published = newestPublished(PRINTED);
  expect(published.get('3008')).toBe('3008.5');
  expect(published.get('3007')).toBe('3007.17');
  expect([...published.keys()]).not.toContain('3004');
});

test('an index that says nothing is an error, not a line without news', () => {
  expect(() => newestPublished('ERROR: No matching distribution found for salt')).toThrow(
    'names no releases',
  );
});

test('a newer point release and a new line are news; what is known and old lines are none', () => {
  const known = ['3006.30', '3007.17', '3008.5'];
  expect(newsOf(newestPublished(PRINTED), known)).toEqual([]);
  const later = PRINTED.replace('3008.5, ', '3009.0, 3008.6, 3008.5, ');
  expect(newsOf(newestPublished(later), known)).toEqual([
    { release: '3009.0', known: undefined },
    { release: '3008.6', known: '3008.5' },
  ]);
});
