import { expect, test } from 'vitest';
import { formsOf } from './forms.ts';
import { storesWhat } from './stored-secrets.ts';

const SECRET = { name: 'it', value: 'pä"ss\'w\\ord-4711+x' };

/** What a program could have written around a secret. */
function written(text: string): Buffer {
  return Buffer.from(`before ${text} behind`);
}

test.each([
  ['as it is', SECRET.value],
  ['JSON', JSON.stringify({ password: SECRET.value })],
  ['JSON in JSON', JSON.stringify({ body: JSON.stringify([SECRET.value]) })],
  ['URL', encodeURIComponent(SECRET.value)],
  ['hex', Buffer.from(`x${SECRET.value}`).toString('hex')],
  ['HEX', Buffer.from(SECRET.value).toString('hex').toUpperCase()],
  ['numbers', JSON.stringify([...Buffer.from(SECRET.value)])],
  ['base64 at 0', Buffer.from(`abc${SECRET.value}z`).toString('base64')],
  ['base64 at 1', Buffer.from(`a${SECRET.value}zz`).toString('base64')],
  ['base64 at 2', Buffer.from(`ab${SECRET.value}`).toString('base64')],
])('a secret is found %s', (form, text) => {
  expect(storesWhat(written(text), formsOf(SECRET))).toEqual([{ secret: 'it', form }]);
});

test('another text is not taken for it', () => {
  expect(storesWhat(written('pä"ss\'w\\ord-4712+x'), formsOf(SECRET))).toEqual([]);
});

test('a secret that stands anywhere by chance is refused', () => {
  expect(() => formsOf({ name: 'short', value: 'abc' })).toThrow('short is too short');
});
