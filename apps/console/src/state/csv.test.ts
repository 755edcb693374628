import { expect, test } from 'vitest';
import { csvOf } from './csv.ts';

test('commas, quotes and ends of lines stay in their cells', () => {
  expect(csvOf(['a', 'b'], [{ a: 'x,y', b: 'say "no"' }, { a: 'two\nlines' }])).toBe(
    'a,b\r\n"x,y","say ""no"""\r\n"two\nlines",\r\n',
  );
});

test('no cell is a formula', () => {
  for (const evil of ['=1+1', '+1', '-1', '@x', '\t=1']) {
    const [, cell = ''] = csvOf(['a'], [{ a: evil }]).split('\r\n');
    expect(cell.replace(/^"/, '').startsWith("'")).toBe(true);
  }
});
