/*
 * What sealing and RSA cost, per call: `npx tsx --conditions=source libs/crypt/bench/sealing.ts`.
 * Each line: microseconds per call, the best of five rounds.
 */
import { Crypticle, newKeyString, PrivateKey } from '@brine/crypt';
import { measure } from '../../wire/bench/measure.ts';

const nonce = '86a4591453bc41a5af7a488067b2db4b';
const keyString = newKeyString();
const crypticle = new Crypticle(keyString);
measure('new Crypticle', () => new Crypticle(keyString));
for (const [name, bytes] of [
  ['400 bytes, as a return of test.ping', 400],
  ['16 KB, as a return of state.apply', 16_384],
  ['1 MB', 1_048_576],
] as const) {
  const body = Buffer.alloc(bytes, 'x');
  const sealed = crypticle.seal(body, { nonce });
  measure(`seal       ${name}`, () => crypticle.seal(body, { nonce }));
  measure(`open       ${name}`, () => crypticle.openReply(sealed, nonce));
}
for (const bits of [2048, 4096]) {
  const key = await PrivateKey.generate(bits);
  const { publicKey } = key;
  const session = Buffer.from(keyString);
  const sealed = publicKey.oaepEncrypt(session, 'OAEP-SHA1');
  const signed = key.sign(session, 'PKCS1v15-SHA1');
  const block = key.x931Encrypt(session.subarray(0, 64));
  measure(`RSA ${bits}  oaepEncrypt`, () => publicKey.oaepEncrypt(session, 'OAEP-SHA1'));
  measure(`RSA ${bits}  oaepDecrypt`, () => key.oaepDecrypt(sealed, 'OAEP-SHA1'));
  measure(`RSA ${bits}  sign`, () => key.sign(session, 'PKCS1v15-SHA1'));
  measure(`RSA ${bits}  verify`, () => publicKey.verify(session, signed, 'PKCS1v15-SHA1'));
  measure(`RSA ${bits}  x931Encrypt`, () => key.x931Encrypt(session.subarray(0, 64)));
  measure(`RSA ${bits}  x931Recover`, () => publicKey.x931Recover(block));
  measure(`RSA ${bits}  parse private key`, () => PrivateKey.parse(key.pem));
}
