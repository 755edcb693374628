import { vectorFile } from '@brine/testing';
import { expect, test } from 'vitest';
import { SealedText } from './sealed-text.ts';

const { master_key: master } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const texts = SealedText.fromMasterKey(master.pem, 'a purpose');
const BYTES = Buffer.from('a token');

test('a text opens at its place, and shows nothing of its content', () => {
  const text = texts.seal('salt/run/1/ret', BYTES);
  expect(text).toMatch(/^sealed:[A-Za-z0-9_-]+$/);
  expect(Buffer.from(text.slice(7), 'base64url').includes(BYTES)).toBe(false);
  expect(texts.open('salt/run/1/ret', text)).toEqual(BYTES);
  expect(texts.seal('salt/run/1/ret', BYTES)).not.toBe(text);
});

test('it opens at no other place, for no other purpose, and not when it was changed', () => {
  const text = texts.seal('salt/run/1/ret', BYTES);
  const other = SealedText.fromMasterKey(master.pem, 'another purpose');
  expect(texts.open('salt/run/2/ret', text)).toBeUndefined();
  expect(texts.open('salt/run/1', text)).toBeUndefined();
  expect(other.open('salt/run/1/ret', text)).toBeUndefined();
  expect(texts.open('salt/run/1/ret', `${text.slice(0, -2)}AA`)).toBeUndefined();
  for (const plain of ['', 'sealed:', 'sealed:x', text.slice(7)]) {
    expect(texts.open('salt/run/1/ret', plain)).toBeUndefined();
  }
});
