import { SealedText } from '@brine/crypt';
import { vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltValue, unpack } from '@brine/wire';
import { SECRET_RETURN } from '@brine/wire/load';
import { expect, test } from 'vitest';
import { openSecretReturn } from './secret-returns.ts';

const { master_key: master } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const texts = SealedText.fromMasterKey(master.pem, SECRET_RETURN);
const TAG = 'salt/run/20261128000000000000/ret';
const FUN = 'runner.auth.mk_token';
const WHEEL = TAG.replace('run', 'wheel');
const TOKEN = mapOf({ token: 'e'.repeat(64), name: 'anne' });

/** The data of an event as it was, and as the readers get it. */
function through(tag: string, fun: string, value: SaltValue): SaltValue | undefined {
  const opened = openSecretReturn(texts, tag, pack(mapOf({ fun, return: value, success: true })));
  return opened === undefined ? undefined : unpack(opened);
}

test('a sealed return is open at the sockets', () => {
  const sealed = texts.seal(TAG, pack(TOKEN));
  expect(through(TAG, FUN, sealed)).toEqual(mapOf({ fun: FUN, return: TOKEN, success: true }));
});

test.each<[what: string, tag: string, fun: string, value: SaltValue]>([
  ['of another run', TAG.replace('ret', 'new'), FUN, texts.seal(TAG, pack(TOKEN))],
  ['with a text of another tag', TAG.replace(/0/g, '1'), FUN, texts.seal(TAG, pack(TOKEN))],
  ['of another function', TAG, 'runner.test.arg', texts.seal(TAG, pack(TOKEN))],
  ['of a wheel, whose caller has it', WHEEL, 'wheel.key.gen', texts.seal(WHEEL, pack(TOKEN))],
  ['that is not sealed', TAG, FUN, TOKEN],
  ['with any text', TAG, FUN, 'sealed:no'],
])('an event %s stays as it is', (_what, tag, fun, value) => {
  expect(through(tag, fun, value)).toBeUndefined();
});

test('data that are no map stay as they are', () => {
  expect(openSecretReturn(texts, TAG, pack('x'))).toBeUndefined();
});
